#include "testing/toy_store/toy_store.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

#include "kernel/apply.h"

namespace once::toy {
namespace {

constexpr Limits kLimits = {
    .writes_per_commit = 100, .value_bytes = 1U << 20, .partition_bytes = 1'024};

// A cursor is the key examined last: LENGTH_OF_HOME:SORT:HOME and PART.
std::string cursor_after(const Key& key) {
  return std::to_string(key.partition.home.size()) + ":" + std::to_string(key.sort) + ":" +
         key.partition.home + key.partition.part;
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const std::string_view digits = text.substr(0, text.find(':'));
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stopped != end || digits.size() == text.size()) return false;
  text.remove_prefix(digits.size() + 1);
  return true;
}

std::optional<Key> key_of_cursor(std::string_view text) {
  std::size_t home_size = 0;
  Key key;
  if (!take_number(text, home_size) || !take_number(text, key.sort)) return std::nullopt;
  if (home_size > text.size()) return std::nullopt;
  key.partition = {std::string(text.substr(0, home_size)), std::string(text.substr(home_size))};
  return key;
}

class ToyStore final : public Store {
 public:
  explicit ToyStore(Clock& clock) : clock_(clock) {}

  const Limits& limits() const override { return kLimits; }
  std::string describe() const override { return "toy, a map that is gone with the process"; }
  Time now() override { return clock_.now(); }

  Result<Swept> sweep(std::size_t limit) override {
    const std::lock_guard lock(mutex_);
    Swept swept;
    auto at = items_.upper_bound(swept_to_);
    for (; at != items_.end() && swept.examined < limit; ++swept.examined) {
      swept_to_ = at->first;
      const bool is_old = expired(at->second, now());
      at = is_old ? items_.erase(at) : std::next(at);
      swept.removed += is_old ? 1 : 0;
    }
    swept.finished = at == items_.end();
    if (swept.finished) swept_to_ = {};
    return swept;
  }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::optional<Item>> items;
    for (const Key& key : keys) items.push_back(current(key));
    return items;
  }

  Result<ScanPage> do_scan(const ScanRequest& request) override {
    const std::lock_guard lock(mutex_);
    std::vector<Entry> found;
    for (auto at = items_.lower_bound({request.partition, request.first}); at != items_.end();
         ++at) {
      const auto& [key, item] = *at;
      if (key.partition != request.partition || key.sort > request.last) break;
      if (!expired(item, now())) found.push_back({key.sort, item});
    }
    if (request.direction == Direction::descending) std::ranges::reverse(found);
    ScanPage page;
    std::size_t bytes = 0;
    for (Entry& entry : found) {
      bytes += size_of(entry.item);
      page.more = page.entries.size() == request.limit ||
                  (bytes > request.max_bytes && !page.entries.empty());
      if (page.more) break;
      page.entries.push_back(std::move(entry));
    }
    return page;
  }

  Result<ListPage> do_list(const ListRequest& request) override {
    const std::lock_guard lock(mutex_);
    auto at = items_.begin();
    if (!request.cursor.empty()) {
      const std::optional<Key> after = key_of_cursor(request.cursor);
      if (!after) return failure(ErrorCode::invalid, "not a cursor of this store");
      at = items_.upper_bound(*after);
    }
    ListPage page;
    for (std::size_t left = request.limit; at != items_.end(); ++at) {
      const auto& [key, item] = *at;
      if (key.partition.home.starts_with(request.home_prefix) && !expired(item, now())) {
        page.items.push_back({key, item});
      }
      if (--left > 0) continue;
      page.cursor = cursor_after(key);
      break;
    }
    return page;
  }

  Result<CommitOutcome> do_commit(Transaction transaction) override {
    const std::lock_guard lock(mutex_);
    std::vector<Effect> effects;
    for (std::size_t i = 0; i < transaction.size(); ++i) {
      const Write& write = transaction[i];
      const std::optional<Item> item = current(write.key);
      const std::optional<CurrentItem> current_item = known_of(item);
      const CurrentItem* const known = current_item ? &*current_item : nullptr;
      if (!holds(write.guard, known)) return Lost{i, item};
      const Result<Effect> effect = effect_of(write, known);
      if (!effect) return std::unexpected(effect.error());
      effects.push_back(*effect);
    }
    Committed committed;
    for (std::size_t i = 0; i < transaction.size(); ++i) {
      if (counts(transaction[i])) committed.numbers.resize(transaction.size());
      apply(transaction[i], effects[i]);
    }
    for (std::size_t i = 0; i < committed.numbers.size(); ++i) {
      committed.numbers[i] = effects[i].number;
    }
    return committed;
  }

 private:
  static bool counts(const Write& write) {
    return write.kind == Write::Kind::add || write.kind == Write::Kind::raise;
  }

  static std::size_t size_of(const Item& item) {
    const Bytes* const bytes = std::get_if<Bytes>(&item.value);
    return bytes == nullptr ? sizeof(std::int64_t) : bytes->size();
  }

  static std::optional<CurrentItem> known_of(const std::optional<Item>& item) {
    if (!item) return std::nullopt;
    CurrentItem current_item{.version = item->version, .permanent = item->expiry == kNever};
    if (const auto* const number = std::get_if<std::int64_t>(&item->value)) {
      current_item.number = *number;
    }
    return current_item;
  }

  std::optional<Item> current(const Key& key) {
    const auto found = items_.find(key);
    if (found == items_.end() || expired(found->second, now())) return std::nullopt;
    return found->second;
  }

  void apply(const Write& write, const Effect& effect) {
    if (effect.kind == Effect::Kind::erase) items_.erase(write.key);
    if (effect.kind != Effect::Kind::put) return;
    items_[write.key] = {effect.number ? Value(*effect.number) : write.value, write.version,
                         write.expiry};
  }

  Clock& clock_;
  std::mutex mutex_;  // Of all below.
  std::map<Key, Item> items_;
  Key swept_to_;
};

}  // namespace

std::unique_ptr<Store> open_toy(Clock& clock) { return std::make_unique<ToyStore>(clock); }

}  // namespace once::toy
