// Where an event goes, by its type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "once/time.h"

namespace once::api {

struct EventRoute {
  std::string type;                             // A pattern: * stands for any text, also none.
  std::string forward;                          // http(s)://host:port/path?query; empty: nowhere.
  std::string log;                              // A stream; empty: none.
  std::string tally;                            // A count; empty: none.
  Duration ttl = std::chrono::hours(24);        // How long a duplicate is known.
  Duration timeout = std::chrono::seconds(30);  // Of a forward, from connecting to the last byte.
  Duration lease = std::chrono::seconds(30);  // After a crash nobody else is let at it for so long.
};

using EventRoutes = std::vector<EventRoute>;

inline constexpr std::size_t kMaxRoutes = 1'000;

// `invalid`, with the field and what is wrong with it.
Result<void> check_route(const EventRoute& route);

bool matches_pattern(std::string_view pattern, std::string_view text);

// The first route whose pattern takes the type; null if none does.
const EventRoute* route_for(const EventRoutes& routes, std::string_view type);

// Where a forward goes: the server, and what is asked of it. Nothing if it is no URL of http.
struct ForwardUrl {
  std::string server;  // http://host:port or https://host:port
  std::string target;  // /path?query
};
std::optional<ForwardUrl> parse_forward(std::string_view url);

}  // namespace once::api
