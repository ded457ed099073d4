// Requests with events. Each line but the last is a header, "name: value"; the last is the body, in
// which the byte 30 is a newline. An accepted event has an identity, one claim and a line of JSON
// that reads as the same event. Every answer keeps the laws of the API.
#include "events/cloud_event.h"

#include "fuzz/api_laws.h"
#include "primitives/keys.h"

namespace once::fuzz {
namespace {

api::Request request_of(std::string_view text) {
  api::Request request{"POST", "/v1/events", {}, ""};
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) {
      request.headers.add(std::string(line.substr(0, colon)), std::string(line.substr(colon + 2)));
    }
    text.remove_prefix(end + 1);
  }
  request.body = text;
  std::ranges::replace(request.body, '\x1e', '\n');
  return request;
}

api::Request structured(std::string body) {
  api::Request request{"POST", "/v1/events", {}, std::move(body)};
  request.headers.add("Content-Type", "application/cloudevents+json");
  return request;
}

void check(const events::CloudEvent& event) {
  require(!event.id.empty() && !event.source.empty() && !event.type.empty());
  const std::string claim = events::event_claim(event.source, event.id);
  require(keys::check_name(claim).has_value());
  const std::string line = events::structured_line(event);
  require(line.find('\n') == std::string::npos);
  const auto again = events::events_in(structured(line));
  require(again.has_value() && again->events.size() == 1 && again->events[0].has_value());
  const events::CloudEvent& same = *again->events[0];
  require(same.id == event.id && same.source == event.source && same.type == event.type);
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const once::api::Request request = once::fuzz::request_of(text);
  if (const auto found = once::events::events_in(request)) {
    for (const auto& event : found->events) {
      if (event) once::fuzz::check(*event);
    }
  }
  once::fuzz::ApiWorld world;
  (void)world.perform(request);
  (void)world.perform(request);
  return 0;
}
