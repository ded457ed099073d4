#include "open/dynamodb.h"

#include <utility>

namespace once {
namespace {

Result<void> set(DynamoDbOptions& options, const std::string& name, const std::string& value) {
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

}  // namespace

Result<DynamoDbOptions> dynamodb_options(const Address& address) {
  const std::string_view place = address.place;
  if (!place.starts_with("//") || place.size() == 2 || place.find('/', 2) != place.npos) {
    return failure(ErrorCode::invalid, "a table's address is dynamodb://TABLE?region=REGION");
  }
  DynamoDbOptions options{.table = std::string(place.substr(2))};
  Result<void> ok = for_each_option(
      address, [&](const auto& name, const auto& value) { return set(options, name, value); });
  if (!ok) return std::unexpected(std::move(ok.error()));
  return options;
}

}  // namespace once
