// Looks at every item of the store from time to time, a little at a time: counts what each
// namespace has, and frees the space of logs that nobody calls. docs/operations.md says how old a
// count is.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "api/tenants.h"
#include "base/mutex.h"
#include "base/periodic.h"
#include "metrics/registry.h"
#include "once/log.h"
#include "once/store.h"

namespace once::api {

class StoreWalk {
 public:
  // From one walk's end to the next one's begin.
  struct Pauses {
    Duration first{};  // From the start to the first walk.
    Duration later{};
  };
  // Where every read is a request to a server that may charge for it, walks are seldom.
  static Pauses pauses(const Limits& limits, Duration owned);

  // All must outlive it.
  StoreWalk(Store& store, Tenants& tenants, metrics::Registry& registry, Clock& clock,
            Pauses pauses);

 private:
  bool go_on();
  bool step();
  bool tidy_next();
  bool look_at_page();
  void take(const ListPage::Listed& listed, Time now);
  void finish();
  void write(metrics::Exposition& out) const;

  Store& store_;
  Tenants& tenants_;
  Clock& clock_;
  const Duration pause_;

  // Used only by the thread of `walking_`.
  Time due_;
  bool under_way_ = false;
  bool at_end_ = false;
  std::string cursor_;
  StoredByNamespace found_;
  std::deque<logs::Stream> untidy_;
  std::set<std::string> untidy_names_;  // Of those that this page has put there.

  mutable Mutex mutex_;
  std::optional<Time> ended_ ONCE_GUARDED_BY(mutex_);

  const metrics::Registry::Collecting collecting_;
  const Periodic walking_;  // Last: it uses all of the above.
};

}  // namespace once::api
