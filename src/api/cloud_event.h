// CloudEvents 1.0 as they come over HTTP: in binary mode (attributes in ce- headers, the data as
// the body), in structured mode (one JSON object) and as a batch (an array of them).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "api/event_attributes.h"
#include "api/message.h"

namespace once::api {

struct CloudEvent {
  EventAttributes attributes;  // As text, whatever their type.
  std::string id;
  std::string source;
  std::string type;

  // To be passed on as it came; an event of a batch in structured mode.
  Headers headers;
  std::string body;
  bool binary = false;
};

// Why it is no CloudEvent, and what is known of it all the same.
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

// A response if the request is in no mode at all, or a batch that is no array or too long.
std::expected<EventsInRequest, Response> events_in(const Request& request);

// The event as one line of JSON, which is its structured form.
std::string structured_line(const CloudEvent& event);

// The claim of the event whose identity is `source` and `id`: no two share one.
std::string event_claim(std::string_view source, std::string_view id);

}  // namespace once::api
