// Where an event goes, by its type.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shares.h"
#include "once/claims.h"
#include "once/error.h"
#include "once/time.h"
#include "once/write.h"

namespace once::net {
class TlsContext;
}

namespace once::events {

struct EventRoute {
  std::string type;                             // A pattern: * matches any text, even none.
  std::string forward;                          // http(s)://host:port/path?query; empty: nowhere.
  std::string log;                              // A stream; empty: none.
  std::string tally;                            // A count; empty: none.
  Duration ttl = std::chrono::hours(24);        // How long a duplicate is recognized.
  Duration timeout = std::chrono::seconds(30);  // Of a forward, from connecting to the last byte.
  Duration lease = std::chrono::seconds(30);    // After a crash, the event is blocked for so long.

  friend bool operator==(const EventRoute&, const EventRoute&) = default;
};

using EventRoutes = std::vector<EventRoute>;

struct EventOptions {
  EventRoutes routes;
  IfStoreDown if_store_down = IfStoreDown::proceed;  // A duplicate is better than a loss.
  std::size_t forwards = 64;                         // At once; four times as many wait.
  unsigned share = kUsualShare;  // Of those, for one namespace or one of its routes: percent.
  Duration work = kAttemptLife;  // How long one step at the store may take.
  std::shared_ptr<net::TlsContext> tls = nullptr;  // For handlers; null: as the machine trusts.
};

inline constexpr std::size_t kMaxRoutes = 1'000;

// `invalid`, naming the field and its error.
Result<void> check_route(const EventRoute& route);

bool matches_pattern(std::string_view pattern, std::string_view text);

// The first route whose pattern matches the type; null if none does.
const EventRoute* route_for(const EventRoutes& routes, std::string_view type);

}  // namespace once::events
