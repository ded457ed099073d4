// Redis removes strings and whole sets when they expire, but not single members of a set: those go
// with later writes to it, or here.
#pragma once

#include <string>
#include <vector>

#include "base/mutex.h"
#include "stores/redis/reader.h"

namespace once::redis {

// Safe to share between threads; one sweep at a time.
class Sweeper {
 public:
  // Goes on where the last one stopped.
  Result<Swept> sweep(const ReadContext& context, std::size_t limit) ONCE_EXCLUDES(mutex_);

 private:
  Result<void> fetch(const ReadContext& context) ONCE_REQUIRES(mutex_);
  Result<void> sweep_set(const ReadContext& context, std::size_t limit, Swept& swept)
      ONCE_REQUIRES(mutex_);

  Mutex mutex_;
  std::size_t server_ ONCE_GUARDED_BY(mutex_) = 0;
  std::uint64_t scan_ ONCE_GUARDED_BY(mutex_) = 0;
  bool at_end_ ONCE_GUARDED_BY(mutex_) = false;  // Nothing is left but `sets_`.
  std::vector<std::string> sets_ ONCE_GUARDED_BY(mutex_);
  std::string after_ ONCE_GUARDED_BY(mutex_);  // In the last of `sets_`: where to go on.
};

}  // namespace once::redis
