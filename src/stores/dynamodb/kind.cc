// dynamodb://TABLE?region=REGION&endpoint=URL&timeout=SECONDS&connections=N
#include <utility>

#include "kernel/store_kind.h"
#include "once/dynamodb_store.h"

namespace once {
namespace {

constexpr std::string_view kOptions =
    "dynamodb has the options region, endpoint, timeout (in seconds) and connections (1 to 1000)";

bool set_option(DynamoDbOptions& options, std::string_view name, const std::string& value) {
  if (name == "region") {
    options.region = value;
  } else if (name == "endpoint") {
    options.endpoint = value;
  } else {
    return set_server_option(options, name, value);
  }
  return true;
}

Result<DynamoDbOptions> options_of(const Address& address) {
  const std::string_view place = address.place;
  if (!place.starts_with("//") || place.size() == 2 || place.find('/', 2) != place.npos) {
    return failure(ErrorCode::invalid, "a table's address is dynamodb://TABLE?region=REGION");
  }
  DynamoDbOptions options{.table = std::string(place.substr(2))};
  return with_options(address, std::move(options), kOptions, set_option);
}

Result<std::unique_ptr<Store>> open_at(const Address& address, const OpenOptions& /*options*/) {
  const Result<DynamoDbOptions> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return open_dynamodb(*options);
}

Result<void> create_table_at(const Address& address, const std::string& role) {
  if (!role.empty()) {
    return failure(ErrorCode::unsupported, "who may use a table of DynamoDB is set in IAM");
  }
  const Result<DynamoDbOptions> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return create_dynamodb_table(*options);
}

Result<std::string> check_table_at(const Address& address) {
  const Result<DynamoDbOptions> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return check_dynamodb_table(*options);
}

}  // namespace

StoreKind dynamodb_kind() {
  return {.scheme = "dynamodb",
          .example = "dynamodb://table?region=R",
          .description = "a table of Amazon DynamoDB, shared by any number of processes",
          .is_server = true,
          .open = open_at,
          .create_table = create_table_at,
          .check_table = check_table_at};
}

}  // namespace once
