// Which claim a message's handling is: two deliveries of one message share it, two messages never.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/json.h"
#include "once/work.h"
#include "primitives/keys.h"

namespace once {
namespace {

struct Identity {
  std::string source;
  std::string id;
};

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool says_event(const Message& message) {
  constexpr std::string_view kStructured = "application/cloudevents+json";
  return same_letters(std::string_view(message.content_type).substr(0, kStructured.size()),
                      kStructured);
}

std::string text_in(Json object, std::string_view name) {
  std::string_view text;
  return object[name].get_string().get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

// Nothing if it is no event of version 1.0.
std::optional<Identity> of_body(const std::string& body) {
  if (body.find("\"specversion\"") == std::string::npos) return std::nullopt;
  const Result<Json> event = parse_json(body);
  if (!event || !event->is_object() || text_in(*event, "specversion") != "1.0") {
    return std::nullopt;
  }
  Identity identity{text_in(*event, "source"), text_in(*event, "id")};
  const bool whole =
      !identity.source.empty() && !identity.id.empty() && !text_in(*event, "type").empty();
  return whole ? std::optional(identity) : std::nullopt;
}

// A text as it is, anything else as JSON. Nothing if the body is no JSON or has nothing there.
std::optional<std::string> at_pointer(const std::string& body, const std::string& pointer) {
  const Result<Json> json = parse_json(body);
  if (!json) return std::nullopt;
  Json value;
  if (json->at_pointer(pointer).get(value) != simdjson::SUCCESS || value.is_null()) {
    return std::nullopt;
  }
  std::string_view text;
  std::string found =
      value.get(text) == simdjson::SUCCESS ? std::string(text) : canonical_json(value);
  return found.empty() ? std::nullopt : std::optional(std::move(found));
}

// In binary mode an event's attributes are the message's, with a prefix that depends on the
// protocol.
std::optional<Identity> of_attributes(const Message& message) {
  constexpr std::array<std::string_view, 4> kPrefixes = {"ce-", "ce_",
                                                         "cloudEvents:", "cloudEvents_"};
  for (const std::string_view prefix : kPrefixes) {
    const auto find = [&](std::string_view name) {
      const auto found = message.attributes.find(std::string(prefix).append(name));
      return found != message.attributes.end() ? found->second : std::string();
    };
    Identity identity{find("source"), find("id")};
    if (find("specversion") == "1.0" && !identity.source.empty() && !identity.id.empty()) {
      return identity;
    }
  }
  return std::nullopt;
}

// Names have a length; a digest in place of one that is too long begins like no other.
std::string fitting(std::string_view queue, std::string_view kind, const std::string& key) {
  std::string name = "work/";
  append_part(name, queue);
  name.append("/").append(kind);
  std::string whole = name + key;
  if (keys::check_name(whole)) return whole;
  whole = "work/#" + sha256_hex(whole);
  return whole;
}

}  // namespace

Result<std::string> claim_of(std::string_view queue, const Message& message, const KeyRule& rule) {
  std::optional<Identity> event = of_attributes(message);
  if (!event) event = of_body(message.body);
  if (event) {
    std::string key;
    append_part(key, event->source);
    return fitting(queue, "event/", key.append(event->id));
  }
  if (says_event(message)) {
    return failure(ErrorCode::invalid, "it says that it is a CloudEvent, and is none");
  }
  if (!rule.attribute.empty()) {
    const auto found = message.attributes.find(rule.attribute);
    if (found != message.attributes.end() && !found->second.empty()) {
      return fitting(queue, "key/", found->second);
    }
  }
  if (!rule.pointer.empty()) {
    if (const auto found = at_pointer(message.body, rule.pointer)) {
      return fitting(queue, "key/", *found);
    }
  }
  if (rule.body) return fitting(queue, "body/", sha256_hex(message.body));
  if (!message.id.empty()) return fitting(queue, "id/", message.id);
  return failure(ErrorCode::invalid, "it has no id to know it by");
}

}  // namespace once
