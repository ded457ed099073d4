// Removes what has expired and what was erased, where that is safe (docs/hazards.md#h25).
//
// A walk costs a GET for each object, since what expires is inside it; so one is begun at most once
// a day. Each object is removed only if it is still the one that was read.
#pragma once

#include <optional>
#include <string>

#include "base/mutex.h"
#include "once/entropy.h"
#include "stores/s3/reader.h"

namespace once::s3 {

// Safe to share between threads; one sweeps at a time.
class Sweeper {
 public:
  explicit Sweeper(Entropy& entropy) : entropy_(entropy) {}

  Result<Swept> sweep(const ReadContext& context, std::size_t limit, aws::Pauses pauses);

 private:
  Result<bool> may_sweep(const ReadContext& context) ONCE_REQUIRES(mutex_);
  void move_on(const std::string& last, bool more, bool plain_documents, Time now)
      ONCE_REQUIRES(mutex_);

  Entropy& entropy_;
  Mutex mutex_;
  std::optional<bool> safe_ ONCE_GUARDED_BY(mutex_);
  std::string cursor_ ONCE_GUARDED_BY(mutex_);
  Time next_walk_ ONCE_GUARDED_BY(mutex_) = Time::min();
};

}  // namespace once::s3
