// Callers go through one after the other, and wait for it until their deadline at most. (A
// std::timed_mutex would do, but ThreadSanitizer cannot see into g++ 12's.)
#pragma once

#include <condition_variable>

#include "aws/credentials.h"
#include "base/mutex.h"

namespace once::s3 {

class KeyLock {
 public:
  // False when it is too late.
  bool acquire(aws::Deadline until) {
    Lock lock(mutex_);
    while (taken_) {
      const bool late = released_.wait_until(lock.native(), until) == std::cv_status::timeout;
      if (late && taken_) return false;
    }
    taken_ = true;
    return true;
  }

  void release() {
    {
      const Lock lock(mutex_);
      taken_ = false;
    }
    released_.notify_one();
  }

 private:
  Mutex mutex_;
  std::condition_variable released_;
  bool taken_ ONCE_GUARDED_BY(mutex_) = false;
};

}  // namespace once::s3
