#include "api/hot_keys.h"

#include <algorithm>

namespace once::api {
namespace {

constexpr Duration kHalfLife = std::chrono::minutes(1);
constexpr std::int64_t kBits = 63;  // Nothing is left of any count after so many halvings.

}  // namespace

void HotKeys::halve(unsigned times) {
  for (auto& [key, count] : counts_) count >>= times;
  std::erase_if(counts_, [](const auto& entry) { return entry.second == 0; });
}

void HotKeys::fade(Time now) {
  const std::int64_t passed = (now - faded_) / kHalfLife;
  if (passed < 1) return;
  halve(static_cast<unsigned>(std::min(passed, kBits)));
  faded_ += passed * kHalfLife;
}

void HotKeys::conflicted(std::string_view name_space, std::string_view key, Time now) {
  const Lock lock(mutex_);
  fade(now);
  std::pair<std::string, std::string> where(name_space, key);
  const bool known = counts_.contains(where);
  while (!known && counts_.size() >= kMaxKeys) halve(1);
  ++counts_[std::move(where)];
}

std::vector<HotKeys::Hot> HotKeys::hottest(std::string_view name_space, std::size_t most,
                                           Time now) {
  std::vector<Hot> found;
  {
    const Lock lock(mutex_);
    fade(now);
    const std::pair<std::string, std::string> first(name_space, "");
    for (auto at = counts_.lower_bound(first); at != counts_.end() && at->first.first == name_space;
         ++at) {
      found.push_back({at->first.second, at->second});
    }
  }
  std::ranges::sort(found, [](const Hot& a, const Hot& b) {
    return a.conflicts != b.conflicts ? a.conflicts > b.conflicts : a.key < b.key;
  });
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace once::api
