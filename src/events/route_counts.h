// What came of the events of each route since the server started. Safe to share between threads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/service.h"
#include "base/mutex.h"
#include "events/routes.h"

namespace once::events {

class RouteCounts {
 public:
  // From now on only these are counted. Routes that stay keep their numbers.
  void set_routes(const EventRoutes& routes);

  // Of an event whose route has this pattern. Of one without a route, nothing.
  void count(const std::string& type, const api::Response& answer);

  std::vector<api::EventRouteReport> report(const EventRoutes& routes) const;

 private:
  struct Counts {
    std::uint64_t processed = 0;
    std::uint64_t skipped = 0;
    std::uint64_t busy = 0;
    std::uint64_t failed = 0;
  };

  mutable Mutex mutex_;
  // By pattern: of two routes with one, the second gets no events.
  std::map<std::string, Counts> counts_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::events
