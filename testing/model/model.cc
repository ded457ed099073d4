#include "testing/model/model.h"

#include <algorithm>
#include <limits>
#include <set>

namespace once::testing {
namespace {

bool counts(const Write& write) {
  return write.kind == Write::Kind::add || write.kind == Write::Kind::raise;
}

bool malformed(const std::vector<Write>& writes) {
  std::set<Key> keys;
  for (const Write& write : writes) {
    if (!keys.insert(write.key).second) return true;
    if (write.kind == Write::Kind::check && write.guard.kind == Guard::Kind::anything) return true;
  }
  return writes.empty();
}

}  // namespace

std::optional<Item> Model::get(const Key& key) const {
  const auto at = items_.find(key);
  if (at == items_.end() || at->second.expiry <= now_) return std::nullopt;
  return at->second;
}

std::vector<Entry> Model::scan(const Partition& partition, std::int64_t first, std::int64_t last,
                               Direction direction) const {
  std::vector<Entry> entries;
  for (const auto& [key, item] : items_) {
    if (key.partition != partition || key.sort < first || key.sort > last) continue;
    if (item.expiry > now_) entries.push_back({key.sort, item});
  }
  if (direction == Direction::descending) std::ranges::reverse(entries);
  return entries;
}

std::map<Key, Item> Model::list(const std::string& home_prefix) const {
  std::map<Key, Item> found;
  for (const auto& [key, item] : items_) {
    if (key.partition.home.starts_with(home_prefix) && item.expiry > now_) found[key] = item;
  }
  return found;
}

Verdict Model::commit(const std::vector<Write>& writes) {
  if (malformed(writes)) return {.may_be_invalid = true};
  Verdict verdict;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (arithmetic_fails(writes[i])) verdict.may_be_invalid = true;
    if (verdict.lost || guard_holds(writes[i])) continue;
    verdict.lost = Lost{i, get(writes[i].key)};
  }
  if (verdict.lost || verdict.may_be_invalid) return verdict;
  for (const Write& write : writes) verdict.committed.numbers.push_back(perform(write));
  return verdict;
}

bool Model::guard_holds(const Write& write) const {
  const std::optional<Item> item = get(write.key);
  if (write.guard.kind == Guard::Kind::absent) return !item;
  if (write.guard.kind == Guard::Kind::permanent) return item && item->expiry == kNever;
  if (write.guard.kind == Guard::Kind::unchanged) {
    return item && item->version == write.guard.version;
  }
  return true;
}

bool Model::arithmetic_fails(const Write& write) const {
  if (!counts(write)) return false;
  const std::optional<Item> item = get(write.key);
  if (!item) return false;
  const auto* number = std::get_if<std::int64_t>(&item->value);
  if (number == nullptr) return true;
  if (write.kind == Write::Kind::raise) return false;
  using Limits = std::numeric_limits<std::int64_t>;
  const std::int64_t amount = std::get<std::int64_t>(write.value);
  return amount > 0 ? *number > Limits::max() - amount : *number < Limits::min() - amount;
}

std::optional<std::int64_t> Model::perform(const Write& write) {
  if (write.kind == Write::Kind::check) return std::nullopt;
  if (write.kind == Write::Kind::erase) {
    items_.erase(write.key);
    return std::nullopt;
  }
  Item after{write.value, write.version, write.expiry};
  if (!counts(write)) {
    items_[write.key] = after;
    return std::nullopt;
  }
  const std::optional<Item> before = get(write.key);
  const std::int64_t operand = std::get<std::int64_t>(write.value);
  if (before) {
    const std::int64_t number = std::get<std::int64_t>(before->value);
    if (write.kind == Write::Kind::raise && operand <= number) return number;
    if (write.kind == Write::Kind::add) after.value = number + operand;
  }
  items_[write.key] = after;
  return std::get<std::int64_t>(after.value);
}

}  // namespace once::testing
