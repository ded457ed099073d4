#include "remote/reading.h"

#include <utility>

#include "api/text.h"
#include "primitives/text_armor.h"

namespace once::remote {

std::unexpected<Error> misunderstanding() {
  return failure(ErrorCode::unknown, "the server answered what this program does not understand");
}

Reading::Reading(const api::Response& response) {
  const Result<api::Json> parsed = api::parse_json(response.body);
  sound_ = parsed.has_value();
  if (parsed) value_ = *parsed;
}

std::optional<api::Json> Reading::any(std::string_view name) {
  api::Json found;
  if (!value_ || (*value_)[name].get(found) != simdjson::SUCCESS || found.is_null()) {
    return std::nullopt;
  }
  return found;
}

std::string Reading::text(std::string_view name) {
  const std::optional<api::Json> found = any(name);
  std::string_view text;
  if (found && found->get(text) == simdjson::SUCCESS) return std::string(text);
  sound_ = false;
  return "";
}

Bytes Reading::data(std::string_view name) {
  std::optional<Bytes> bytes = unarmored(text(name));
  if (!bytes) sound_ = false;
  return std::move(bytes).value_or("");
}

std::int64_t Reading::integer(std::string_view name) {
  const std::optional<api::Json> found = any(name);
  std::int64_t value = 0;
  if (!found || found->get(value) != simdjson::SUCCESS) sound_ = false;
  return value;
}

double Reading::number(std::string_view name) {
  const std::optional<api::Json> found = any(name);
  double value = 0;
  if (!found || found->get(value) != simdjson::SUCCESS) sound_ = false;
  return value;
}

Time Reading::time(std::string_view name) {
  const std::optional<Time> time = api::parse_time(text(name));
  if (!time) sound_ = false;
  return time.value_or(Time{});
}

std::vector<api::Json> Reading::array(std::string_view name) {
  const std::optional<api::Json> found = any(name);
  simdjson::dom::array values;
  if (!found || found->get(values) != simdjson::SUCCESS) {
    sound_ = false;
    return {};
  }
  return {values.begin(), values.end()};
}

Result<void> Reading::finish() const {
  if (sound_) return {};
  return misunderstanding();
}

}  // namespace once::remote
