#include "events/routes.h"

#include <algorithm>

#include "base/uri.h"
#include "primitives/keys.h"

namespace once::events {
namespace {

constexpr std::size_t kMaxPattern = 512;
constexpr Duration kLongestTtl = std::chrono::days(3'650);
constexpr Duration kShortestLease = std::chrono::seconds(1);
constexpr Duration kLongest = std::chrono::hours(1);

std::unexpected<Error> wrong(std::string message) {
  return failure(ErrorCode::invalid, std::move(message));
}

Result<void> check_name(std::string_view field, const std::string& name) {
  if (name.empty()) return {};
  if (const Result<void> ok = keys::check_name(name); !ok) {
    return wrong(std::string(field).append(": ").append(ok.error().message));
  }
  return {};
}

}  // namespace

Result<void> check_route(const EventRoute& route) {
  if (route.type.empty()) return wrong("type is missing");
  if (route.type.size() > kMaxPattern || !keys::check_name(route.type)) {
    return wrong("type is 1 to 512 bytes of UTF-8 without control characters");
  }
  if (!route.forward.empty() && !parse_endpoint(route.forward)) {
    return wrong("forward is not http://host:port/path or https://host/path: " + route.forward);
  }
  if (Result<void> ok = check_name("log", route.log); !ok) return ok;
  if (Result<void> ok = check_name("tally", route.tally); !ok) return ok;
  if (route.ttl < Duration(1) || route.ttl > kLongestTtl) return wrong("ttl is 1ms to 3650d");
  if (route.timeout < Duration(1) || route.timeout > kLongest) return wrong("timeout is 1ms to 1h");
  if (route.lease < kShortestLease || route.lease > kLongest) return wrong("lease is 1s to 1h");
  return {};
}

// On a mismatch the last star takes one character more, so the time is at worst the product of both
// lengths.
bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t read = 0;
  std::size_t star = std::string_view::npos;
  std::size_t taken = 0;
  while (read < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = read;
    } else if (at < pattern.size() && pattern[at] == text[read]) {
      ++at;
      ++read;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      read = ++taken;
    } else {
      return false;
    }
  }
  return pattern.substr(at).find_first_not_of('*') == std::string_view::npos;
}

const EventRoute* route_for(const EventRoutes& routes, std::string_view type) {
  const auto found = std::ranges::find_if(
      routes, [&](const EventRoute& route) { return matches_pattern(route.type, type); });
  return found != routes.end() ? &*found : nullptr;
}

}  // namespace once::events
