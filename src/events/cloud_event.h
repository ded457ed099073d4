// CloudEvents 1.0 over HTTP: in binary mode (attributes in ce- headers, the data as the body), in
// structured mode (one JSON object) and as a batch (an array of such objects).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "events/attributes.h"
#include "wire/message.h"

namespace once::events {

using api::Headers;
using api::Request;
using api::Response;

struct CloudEvent {
  EventAttributes attributes;  // All as text.
  std::string id;
  std::string source;
  std::string type;

  // To be forwarded unchanged; an event of a batch in structured mode.
  Headers headers;
  std::string body;
  bool binary = false;
};

// Why it is no CloudEvent, with its id and type if they could be read.
struct BadEvent {
  Error error;
  std::string id;
  std::string type;
};
using ParsedEvent = std::expected<CloudEvent, BadEvent>;

struct EventsInRequest {
  bool batch = false;
  std::vector<ParsedEvent> events;  // One, unless it is a batch.
};

inline constexpr std::size_t kMaxEvents = 1'000;  // In a batch.

// A response if the request is in none of these modes, or is a batch that is no array or too long.
std::expected<EventsInRequest, Response> events_in(const Request& request);

// The event as one line of JSON, which is its structured form.
std::string structured_line(const CloudEvent& event);

// The claim of the event with this `source` and `id`. No two events share one.
std::string event_claim(std::string_view source, std::string_view id);

}  // namespace once::events
