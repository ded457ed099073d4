#include "api/hot_keys.h"

#include <algorithm>

#include "api/call.h"

namespace once::api {
namespace {

constexpr Duration kMinute = std::chrono::minutes(1);
constexpr std::int64_t kBits = 63;  // After so many halvings every count is 0.
constexpr std::size_t kMostHotKeys = 100;

// With or without the kind in front.
bool has_prefix(std::string_view key, std::string_view prefix) {
  return key.starts_with(prefix) || key.substr(key.find('/') + 1).starts_with(prefix);
}

Plan<Response> list_hottest(HotKeys& hot, std::string name_space, std::string prefix) {
  const Time now = co_await store_now();
  const std::vector<HotKeys::Hot> keys = hot.hottest(name_space, kMostHotKeys, now, prefix);
  std::string list = json_array(keys, [](const HotKeys::Hot& key) {
    return JsonObject()
        .text("key", key.key)
        .integer("conflicts", static_cast<std::int64_t>(key.conflicts))
        .finish();
  });
  co_return json_response(200, JsonObject().raw("keys", list).finish());
}

}  // namespace

void HotKeys::erase_faded() {
  std::erase_if(counts_, [](const auto& entry) { return entry.second.all() == 0; });
}

void HotKeys::fade(Time now) {
  const std::int64_t passed = (now - minute_) / kMinute;
  if (passed < 1) return;
  const std::int64_t halvings = std::min(passed - 1, kBits);
  for (auto& [key, count] : counts_) {
    count.earlier = (count.earlier / 2 + count.this_minute) >> halvings;
    count.this_minute = 0;
  }
  erase_faded();
  minute_ += passed * kMinute;
}

void HotKeys::make_room() {
  for (auto& [key, count] : counts_) count = {count.this_minute / 2, count.earlier / 2};
  erase_faded();
}

void HotKeys::conflicted(std::string_view name_space, std::string_view key, Time now) {
  const Lock lock(mutex_);
  fade(now);
  std::pair<std::string, std::string> where(name_space, key);
  const bool known = counts_.contains(where);
  while (!known && counts_.size() >= kMaxKeys) make_room();
  ++counts_[std::move(where)].this_minute;
}

std::vector<HotKeys::Hot> HotKeys::hottest(std::string_view name_space, std::size_t most, Time now,
                                           std::string_view prefix) {
  std::vector<Hot> found;
  {
    const Lock lock(mutex_);
    fade(now);
    const std::pair<std::string, std::string> first(name_space, "");
    for (auto at = counts_.lower_bound(first); at != counts_.end() && at->first.first == name_space;
         ++at) {
      if (has_prefix(at->first.second, prefix))
        found.push_back({at->first.second, at->second.all()});
    }
  }
  std::ranges::sort(found, [](const Hot& a, const Hot& b) {
    return a.conflicts != b.conflicts ? a.conflicts > b.conflicts : a.key < b.key;
  });
  if (found.size() > most) found.resize(most);
  return found;
}

Answer list_hot_keys(Call& call) {
  return list_hottest(call.service.hot(), call.name_space, call.parameter("prefix").value_or(""));
}

}  // namespace once::api
