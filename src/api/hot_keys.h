// The keys with the most recent conflicts: a hint for people who look for what is slow. A conflict
// counts fully for at least a minute; then counts halve every minute, so quiet keys fade away. Safe
// to share between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "once/time.h"

namespace once::api {

class HotKeys {
 public:
  // The most keys to remember, of all namespaces. When it is full, all counts are halved.
  static constexpr std::size_t kMaxKeys = 4'096;

  struct Hot {
    std::string key;
    std::uint64_t conflicts = 0;
  };

  void conflicted(std::string_view name_space, std::string_view key, Time now);

  // Of one namespace, the hottest first, equal ones by name. A key such as "docs/a/b" has the
  // prefixes "docs/a" and "a/".
  std::vector<Hot> hottest(std::string_view name_space, std::size_t most, Time now,
                           std::string_view prefix = "");

 private:
  struct Count {
    std::uint64_t this_minute = 0;
    std::uint64_t earlier = 0;  // Halved at the end of each minute.
    std::uint64_t all() const { return this_minute + earlier; }
  };

  void fade(Time now) ONCE_REQUIRES(mutex_);
  void make_room() ONCE_REQUIRES(mutex_);
  void erase_faded() ONCE_REQUIRES(mutex_);

  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Count> counts_ ONCE_GUARDED_BY(mutex_);
  Time minute_ ONCE_GUARDED_BY(mutex_);
};

// One key, and the place where its conflicts are counted.
struct HotSpot {
  HotKeys& keys;
  std::string name_space;
  std::string key;

  void conflicted(Time now) const { keys.conflicted(name_space, key, now); }
};

}  // namespace once::api
