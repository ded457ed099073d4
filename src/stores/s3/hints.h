// Which ETag a version had when we last saw it, so that a write under unchanged() need not ask
// again. Only a hint: with one that is out of date, or lost, a write costs one GET more, and the
// server decides either way.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "once/item.h"
#include "once/key.h"

namespace once::s3 {

// Safe to share between threads. Takes bounded room: a newer hint drives out another.
class Hints {
 public:
  Hints() : places_(kPlaces) {}

  struct Hint {
    Version version;
    Time expiry = kNever;
    std::string etag;
    std::vector<Version> before;  // As in the object.
  };

  void keep(const Key& key, Hint hint);
  void forget(const Key& key);
  std::optional<Hint> find(const Key& key, Version version) const;

 private:
  static constexpr std::size_t kPlaces = 4'096;

  struct Place {
    Key key;
    Hint hint;
  };
  static std::size_t place_of(const Key& key);

  mutable Mutex mutex_;
  std::vector<Place> places_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::s3
