#include <unordered_map>
#include <utility>

#include "kernel/mutex.h"
#include "once/tallies.h"

namespace once::tallies {
namespace {

constexpr std::size_t kMaxTallies = 10'000;

}  // namespace

class KnownTallies::Metas {
 public:
  bool holds(const Key& tally, const Bytes& meta) const {
    const Lock lock(mutex_);
    const auto found = metas_.find(tally.partition.home);
    return found != metas_.end() && found->second == meta;
  }

  void learn(const Key& tally, Bytes meta) {
    const Lock lock(mutex_);
    // Which ones are forgotten does not matter, as each costs one get.
    if (metas_.size() >= kMaxTallies) metas_.clear();
    metas_[tally.partition.home] = std::move(meta);
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, Bytes> metas_ ONCE_GUARDED_BY(mutex_);
};

KnownTallies::KnownTallies() : metas_(std::make_unique<Metas>()) {}
KnownTallies::~KnownTallies() = default;

bool KnownTallies::holds(const Key& tally, const Bytes& meta) const {
  return metas_->holds(tally, meta);
}

void KnownTallies::learn(const Key& tally, Bytes meta) { metas_->learn(tally, std::move(meta)); }

}  // namespace once::tallies
