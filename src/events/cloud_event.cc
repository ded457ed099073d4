#include "events/cloud_event.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/encoding.h"
#include "primitives/keys.h"
#include "wire/json.h"
#include "wire/problem.h"
#include "wire/text.h"

namespace once::events {
namespace {

using api::Code;
using api::is_utf8;
using api::Json;
using api::json_text;
using api::JsonObject;
using api::lowered;
using api::media_type;
using api::parse_json;
using api::problem;
using api::to_line;

constexpr std::string_view kStructured = "application/cloudevents+json";
constexpr std::string_view kBatch = "application/cloudevents-batch+json";
constexpr std::string_view kPrefix = "ce-";

using simdjson::dom::element_type;

std::string known(const EventAttributes& attributes, std::string_view name) {
  const std::string* const value = find_attribute(attributes, name);
  return value != nullptr && is_utf8(*value) ? *value : "";
}

ParsedEvent bad(Error error, const EventAttributes& attributes) {
  return std::unexpected(
      BadEvent{std::move(error), known(attributes, "id"), known(attributes, "type")});
}

Error invalid_member(std::string_view name, std::string_view what) {
  std::string message(name.substr(0, 64));
  return {ErrorCode::invalid, message.append(" ").append(what)};
}

ParsedEvent checked(CloudEvent event) {
  if (Result<void> ok = check_attributes(event.attributes); !ok) {
    return bad(std::move(ok.error()), event.attributes);
  }
  event.id = known(event.attributes, "id");
  event.source = known(event.attributes, "source");
  event.type = known(event.attributes, "type");
  return event;
}

// The value of a header, without quotes if it has them.
std::string unquoted(std::string_view value) {
  if (value.size() < 2 || !value.starts_with('"') || !value.ends_with('"')) {
    return std::string(value);
  }
  value = value.substr(1, value.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    out += value[i];
  }
  return out;
}

bool is_attribute(std::string_view header) { return lowered(header).starts_with(kPrefix); }

ParsedEvent binary_event(const Request& request) {
  CloudEvent event;
  event.binary = true;
  event.body = request.body;
  for (const auto& [header, value] : request.headers.fields()) {
    const std::string name = lowered(header);
    if (name == "content-type") {
      event.headers.add("Content-Type", value);
      event.attributes.push_back({"datacontenttype", value});
    }
    if (!name.starts_with(kPrefix)) continue;
    std::string attribute = name.substr(kPrefix.size());
    // In this mode Content-Type is the attribute.
    if (attribute == "datacontenttype") {
      return bad(invalid_member(header, "is Content-Type in binary mode"), event.attributes);
    }
    auto decoded = percent_decode(unquoted(value));
    if (!decoded) return bad(invalid_member(header, "is badly percent-encoded"), event.attributes);
    event.attributes.push_back({std::move(attribute), std::move(*decoded)});
    event.headers.add(header, value);
  }
  return checked(std::move(event));
}

bool is_base64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
}

// An attribute is a string, a boolean or an integer of 32 bits.
std::expected<std::string, Error> attribute_text(std::string_view name, Json value) {
  if (value.type() == element_type::STRING) {
    return std::string(value.get_string().value_unsafe());
  }
  if (value.type() == element_type::BOOL) {
    return value.get_bool().value_unsafe() ? "true" : "false";
  }
  if (value.type() == element_type::INT64) {
    const std::int64_t number = value.get_int64().value_unsafe();
    if (number >= std::numeric_limits<std::int32_t>::min() &&
        number <= std::numeric_limits<std::int32_t>::max()) {
      return std::to_string(number);
    }
  }
  return std::unexpected(
      invalid_member(name, "is neither a string, true, false nor an integer of 32 bits"));
}

bool wants_text(std::string_view name) {
  constexpr std::array<std::string_view, 8> kTexts = {
      "id", "source", "specversion", "type", "time", "subject", "datacontenttype", "dataschema"};
  return std::ranges::find(kTexts, name) != kTexts.end();
}

// One member of the object. Null counts as missing.
Result<void> take_member(std::string_view name, Json value, CloudEvent& event) {
  if (value.is_null()) return {};
  if (wants_text(name) && value.type() != element_type::STRING) {
    return std::unexpected(invalid_member(name, "is not a string"));
  }
  auto text = attribute_text(name, value);
  if (!text) return std::unexpected(std::move(text.error()));
  event.attributes.push_back({std::string(name), std::move(*text)});
  return {};
}

ParsedEvent structured_event(Json value) {
  CloudEvent event;
  simdjson::dom::object members;
  if (value.get(members) != simdjson::SUCCESS) {
    return bad({ErrorCode::invalid, "an event is a JSON object"}, {});
  }
  if (members.size() > kMaxAttributes + 2) {
    return bad({ErrorCode::invalid, "more than 128 attributes"}, {});
  }
  int data = 0;
  std::optional<Error> first_wrong;
  for (const auto& [name, member] : members) {
    Result<void> ok;
    if (name == "data" || name == "data_base64") {
      std::string_view text;
      if (!member.is_null()) ++data;
      if (name == "data_base64" && !member.is_null() &&
          (member.get(text) != simdjson::SUCCESS || !is_base64(text))) {
        ok = std::unexpected(invalid_member(name, "is not base64"));
      }
    } else {
      ok = take_member(name, member, event);
    }
    if (!ok && !first_wrong) first_wrong = std::move(ok.error());
  }
  if (data > 1 && !first_wrong)
    first_wrong = invalid_member("data", "and data_base64 are there together");
  if (first_wrong) return bad(std::move(*first_wrong), event.attributes);
  event.headers.add("Content-Type", std::string(kStructured));
  return checked(std::move(event));
}

ParsedEvent structured_in(const Request& request) {
  const Result<Json> json = parse_json(request.body);
  if (!json) return bad(json.error(), {});
  ParsedEvent event = structured_event(*json);
  if (event) event->body = request.body;
  return event;
}

std::expected<EventsInRequest, Response> batch_in(const Request& request) {
  const Result<Json> json = parse_json(request.body);
  if (!json) return std::unexpected(problem(json.error()));
  simdjson::dom::array values;
  if (json->get(values) != simdjson::SUCCESS) {
    return std::unexpected(problem(Code::invalid, "a batch is a JSON array of events"));
  }
  EventsInRequest found{.batch = true, .events = {}};
  for (const Json value : values) {
    if (found.events.size() == kMaxEvents) {
      return std::unexpected(problem(Code::too_large, "a batch has at most 1000 events"));
    }
    ParsedEvent event = structured_event(value);
    if (event) event->body = to_line(value);
    found.events.push_back(std::move(event));
  }
  return found;
}

bool is_json_type(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  const std::string name = lowered(type);
  return name.ends_with("/json") || name.ends_with("+json");
}

// The data of an event in binary mode as a JSON value; empty if it needs base64.
std::optional<std::string> data_as_json(const CloudEvent& event) {
  const std::string* const type = find_attribute(event.attributes, "datacontenttype");
  if (type != nullptr && !is_json_type(*type)) {
    return is_utf8(event.body) ? std::optional(json_text(event.body)) : std::nullopt;
  }
  const Result<Json> value = parse_json(event.body);
  if (!value) return std::nullopt;
  std::string line = to_line(*value);
  // Inside the event it is nested one level deeper, which may be too deep.
  std::string nested = "[";
  if (!parse_json(nested.append(line).append("]"))) return std::nullopt;
  return line;
}

void add_data(JsonObject& out, const CloudEvent& event) {
  if (event.body.empty()) return;
  if (const std::optional<std::string> json = data_as_json(event)) {
    out.raw("data", *json);
  } else {
    out.text("data_base64", base64_encode(event.body));
  }
}

bool has_attributes(const Headers& headers) {
  return std::ranges::any_of(headers.fields(),
                             [](const Headers::Field& field) { return is_attribute(field.name); });
}

}  // namespace

std::expected<EventsInRequest, Response> events_in(const Request& request) {
  const std::string type = media_type(request.headers);
  if (type == kBatch) return batch_in(request);
  EventsInRequest found;
  if (type == kStructured) {
    found.events.push_back(structured_in(request));
    return found;
  }
  if (type.starts_with("application/cloudevents")) {
    return std::unexpected(problem(Code::invalid, "events are taken in JSON, or in binary mode"));
  }
  if (!has_attributes(request.headers)) {
    return std::unexpected(problem(Code::invalid,
                                   "not a CloudEvent: there are no ce- headers, and the content "
                                   "type is not application/cloudevents+json"));
  }
  found.events.push_back(binary_event(request));
  return found;
}

std::string structured_line(const CloudEvent& event) {
  if (!event.binary) {
    const Result<Json> json = parse_json(event.body);
    return json ? to_line(*json) : "null";
  }
  JsonObject out;
  for (const auto& [name, value] : event.attributes) out.text(name, value);
  add_data(out, event);
  return out.finish();
}

std::string event_claim(std::string_view source, std::string_view id) {
  std::string name = "event/";
  append_part(name, source);
  name += id;
  if (keys::check_name(name)) return name;
  // Never equal to a name from above: there a digit follows the slash.
  return "event/#" + sha256_hex(name);
}

}  // namespace once::events
