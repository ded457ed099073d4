#include "event.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

namespace event_builder {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = 64;  // Bytes of the name of a function or a commit.

std::string text_in(const json& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_string()) return "";
  return object[name];
}

std::string attribute(const Attributes& attributes, const char* name) {
  for (const char* const prefix : {"ce-", "cloudEvents:", "cloudEvents_"}) {
    const auto found = attributes.find(std::string(prefix) + name);
    if (found != attributes.end()) return found->second;
  }
  return "";
}

}  // namespace

once::Result<Event> event_of(const Attributes& attributes, std::string_view body) {
  const auto wrong = [](const char* why) { return once::failure(once::ErrorCode::invalid, why); };
  Event event{.type = attribute(attributes, "type"),
              .source = attribute(attributes, "source"),
              .id = attribute(attributes, "id")};
  json data = json::parse(body, nullptr, false);
  if (data.is_discarded()) return wrong("it is no JSON");
  if (event.id.empty()) {
    event.type = text_in(data, "type");
    event.source = text_in(data, "source");
    event.id = text_in(data, "id");
    if (data.contains("data")) data = json(data["data"]);
  }
  if (event.type.empty() || event.source.empty() || event.id.empty())
    return wrong("it is no event");
  event.function = text_in(data, "function");
  event.commit = text_in(data, "commit");
  if (event.function.empty() || event.commit.empty()) return wrong("it names nothing to build");
  if (event.function.size() > kLongest || event.commit.size() > kLongest) {
    return wrong("it names something too long to build");
  }
  if (data.contains("flaky") && data["flaky"].is_number_integer()) event.flaky = data["flaky"];
  return event;
}

std::string to_json(const Event& event) {
  nlohmann::ordered_json json;
  json["specversion"] = "1.0";
  json["type"] = event.type;
  json["source"] = event.source;
  json["id"] = event.id;
  json["datacontenttype"] = "application/json";
  json["data"]["function"] = event.function;
  json["data"]["commit"] = event.commit;
  if (event.flaky > 0) json["data"]["flaky"] = event.flaky;
  return json.dump();
}

std::vector<Event> make_events(std::size_t count, std::uint32_t seed) {
  constexpr std::array kFunctions = {"resize", "checkout", "search", "login", "mailer", "invoice"};
  std::mt19937 random(seed);
  std::vector<Event> events;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<char, 16> commit{};
    std::snprintf(commit.data(), commit.size(), "%08x", static_cast<unsigned>(random()));
    const auto luck = random() % 6;
    // Two sources with the same ids: only both together tell events apart.
    events.push_back({.type = kKinds[i % 4 == 3 ? 1 : 0].type,
                      .source = i % 2 == 0 ? "/repos/shop" : "/repos/blog",
                      .id = std::to_string(i / 2),
                      .function = kFunctions[random() % kFunctions.size()],
                      .commit = commit.data(),
                      .flaky = luck == 0   ? 2
                               : luck == 1 ? 1
                                           : 0});
  }
  return events;
}

}  // namespace event_builder
