#include "open/dynamodb.h"

#include <charconv>
#include <memory>
#include <utility>

namespace once {
namespace {

// A whole number of at least 1; 0 for anything else.
std::int64_t count_in(const std::string& text) {
  std::int64_t count = 0;
  const char* const end = std::to_address(text.end());
  const auto [stopped, error] = std::from_chars(std::to_address(text.begin()), end, count);
  return error == std::errc() && stopped == end && count > 0 ? count : 0;
}

Result<void> set(DynamoDbOptions& options, const std::string& name, const std::string& value) {
  constexpr std::int64_t kMost = 1'000;
  const std::int64_t count = count_in(value);
  if (name == "region") {
    options.region = value;
  } else if (name == "endpoint") {
    options.endpoint = value;
  } else if (name == "timeout" && count > 0 && count <= kMost) {
    options.timeout = std::chrono::seconds(count);
  } else if (name == "connections" && count > 0 && count <= kMost) {
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
  const auto given = options_in(address.options);
  if (!given) return std::unexpected(given.error());
  for (const auto& [name, value] : *given) {
    if (Result<void> ok = set(options, name, value); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
  }
  return options;
}

}  // namespace once
