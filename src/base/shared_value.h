// A value that one thread replaces while others use it: each user has the one that was there when
// it asked. In place of std::atomic<std::shared_ptr>, whose load() in libstdc++ 12 gives its lock
// back without ordering, which is a data race.
#pragma once

#include <memory>
#include <utility>

#include "base/mutex.h"

namespace once {

template <class T>
class SharedValue {
 public:
  explicit SharedValue(std::shared_ptr<const T> value) : value_(std::move(value)) {}

  std::shared_ptr<const T> load() const {
    const Lock lock(mutex_);
    return value_;
  }

  void store(std::shared_ptr<const T> value) {
    const Lock lock(mutex_);
    value_.swap(value);
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> value_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once
