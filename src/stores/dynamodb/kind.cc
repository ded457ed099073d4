// dynamodb://TABLE?region=REGION&endpoint=URL&timeout=SECONDS&connections=N
#include <utility>

#include "kernel/store_kind.h"
#include "once/dynamodb_store.h"

namespace once {
namespace {

Result<void> set_option(DynamoDbOptions& options, const std::string& name,
                        const std::string& value) {
  const std::int64_t count = small_count(value);
  if (name == "region") {
    options.region = value;
  } else if (name == "endpoint") {
    options.endpoint = value;
  } else if (name == "timeout" && count > 0) {
    options.timeout = std::chrono::seconds(count);
  } else if (name == "connections" && count > 0) {
    options.connections = static_cast<std::size_t>(count);
  } else {
    return failure(ErrorCode::invalid,
                   "dynamodb has the options region, endpoint, timeout (in seconds) and "
                   "connections (1 to 1000), not \"" +
                       name + "=" + value + "\"");
  }
  return {};
}

Result<DynamoDbOptions> options_of(const Address& address) {
  const std::string_view place = address.place;
  if (!place.starts_with("//") || place.size() == 2 || place.find('/', 2) != place.npos) {
    return failure(ErrorCode::invalid, "a table's address is dynamodb://TABLE?region=REGION");
  }
  DynamoDbOptions options{.table = std::string(place.substr(2))};
  Result<void> ok = for_each_option(address, [&](const auto& name, const auto& value) {
    return set_option(options, name, value);
  });
  if (!ok) return std::unexpected(std::move(ok.error()));
  return options;
}

Result<std::unique_ptr<Store>> open_at(const Address& address, const OpenOptions& /*options*/) {
  const Result<DynamoDbOptions> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return open_dynamodb(*options);
}

Result<void> create_table_at(const Address& address) {
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
          .open = open_at,
          .create_table = create_table_at,
          .check_table = check_table_at};
}

}  // namespace once
