#include <algorithm>
#include <string>
#include <unordered_map>

#include "kernel/mutex.h"
#include "once/documents.h"

namespace once::documents {
namespace {

constexpr Duration kBase{100};
constexpr Duration kCap{1'000};
constexpr int kTopLevel = 5;  // The first whose bound reaches the cap.
constexpr Duration kMemory = std::chrono::seconds(10);
constexpr std::size_t kMaxKeys = 1'024;

Duration bound_at(int level) { return std::min(kCap, kBase * (1 << std::max(level - 1, 0))); }

}  // namespace

// A document's level is how many conflicts in a row its changes have met of late. A conflict raises
// it to the caller's own count, not by one: thirty callers that meet at once have met one conflict
// each. It falls with every change that succeeds, and quiet forgets it.
class Contention::Levels {
 public:
  int conflicted(const std::string& home, int conflicts, Time now) ONCE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    if (levels_.size() >= kMaxKeys && !levels_.contains(home)) levels_.erase(levels_.begin());
    Level& level = levels_[home];
    const int before = now < later(level.last, kMemory) ? level.height : 0;
    level = {std::clamp(conflicts, before, kTopLevel), std::max(level.last, now)};
    return level.height;
  }

  void succeeded(const std::string& home, int conflicts) ONCE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    const auto found = levels_.find(home);
    if (found == levels_.end()) return;
    int& height = found->second.height;
    height = conflicts == 0 ? height / 2 : height - 1;
    if (height <= 0) levels_.erase(found);
  }

  int level(const std::string& home, Time now) const ONCE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    const auto found = levels_.find(home);
    if (found == levels_.end() || now >= later(found->second.last, kMemory)) return 0;
    return found->second.height;
  }

 private:
  struct Level {
    int height = 0;
    Time last;  // Of the last conflict.
  };

  mutable Mutex mutex_;
  std::unordered_map<std::string, Level> levels_ ONCE_GUARDED_BY(mutex_);
};

Contention::Contention() : levels_(std::make_unique<Levels>()) {}
Contention::~Contention() = default;

Duration Contention::conflicted(const Key& key, int conflicts, Time now) {
  return bound_at(levels_->conflicted(key.partition.home, conflicts, now));
}

void Contention::succeeded(const Key& key, int conflicts) {
  levels_->succeeded(key.partition.home, conflicts);
}

Duration Contention::bound(const Key& key, Time now) const {
  return bound_at(levels_->level(key.partition.home, now));
}

}  // namespace once::documents
