// The events that are built on: CloudEvents that name a function and a commit of it.
//
//   {"specversion":"1.0","type":"example.build.start","source":"/repos/shop","id":"17",
//    "datacontenttype":"application/json","data":{"function":"resize","commit":"4f2a17","flaky":1}}
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "once/time.h"

namespace event_builder {

struct Event {
  std::string type;
  std::string source;  // With the id, what an event is known by: ids alone are not unique.
  std::string id;
  std::string function;
  std::string commit;
  std::int64_t flaky = 0;  // So many attempts at the build fail before one succeeds.
};

using Attributes = std::map<std::string, std::string, std::less<>>;

// From a message or a request: in structured mode all is in the body; in binary mode the attributes
// have it, except for the data.
once::Result<Event> event_of(const Attributes& attributes, std::string_view body);

std::string to_json(const Event& event);

// A type of event has a queue of its own, and is known for a time of its own.
struct Kind {
  const char* type;
  const char* queue;
  once::Duration known;
};
inline constexpr std::array kKinds = {
    Kind{"example.build.start", "builds", std::chrono::hours(24)},
    Kind{"example.preview.start", "previews", std::chrono::hours(1)}};

// Every fourth is a preview, the others are builds; a third of all fail at first. The same for the
// same seed.
std::vector<Event> make_events(std::size_t count, std::uint32_t seed);

}  // namespace event_builder
