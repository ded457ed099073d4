#include "events/route_counts.h"

#include "base/printable_address.h"
#include "wire/problem.h"

namespace once::events {

void RouteCounts::set_routes(const EventRoutes& routes) {
  const Lock lock(mutex_);
  std::map<std::string, Counts> kept;
  for (const EventRoute& route : routes) kept[route.type] = counts_[route.type];
  counts_ = std::move(kept);
}

void RouteCounts::count(const std::string& type, const api::Response& answer) {
  const Lock lock(mutex_);
  const auto found = counts_.find(type);
  if (found == counts_.end()) return;
  if (answer.status < 300) {
    ++(answer.telemetry.duplicates > 0 ? found->second.skipped : found->second.processed);
  } else {
    ++(answer.telemetry.outcome == api::Outcome::busy ? found->second.busy : found->second.failed);
  }
}

std::vector<api::EventRouteReport> RouteCounts::report(const EventRoutes& routes) const {
  std::vector<api::EventRouteReport> all;
  const Lock lock(mutex_);
  for (const EventRoute& route : routes) {
    const auto found = counts_.find(route.type);
    const Counts counts = found != counts_.end() ? found->second : Counts{};
    all.push_back({.type = route.type,
                   .forward = printable_address(route.forward),
                   .log = route.log,
                   .tally = route.tally,
                   .processed = counts.processed,
                   .skipped = counts.skipped,
                   .busy = counts.busy,
                   .failed = counts.failed});
  }
  return all;
}

}  // namespace once::events
