#include "stores/memory/shards.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace once::memory {

void Recency::add(Ref ref, std::size_t charge) {
  bytes_.store(bytes() + charge, std::memory_order_relaxed);
  link(ref);
  if (oldest_ == ref) publish();
}

void Recency::remove(Ref ref, std::size_t charge) {
  bytes_.store(bytes() - charge, std::memory_order_relaxed);
  const bool was_oldest = oldest_ == ref;
  unlink(ref);
  if (was_oldest) publish();
}

void Recency::touch(Ref ref) {
  const bool was_oldest = oldest_ == ref;
  unlink(ref);
  link(ref);
  if (was_oldest) publish();
}

std::optional<std::uint32_t> Recency::oldest_use() const {
  const std::uint64_t use = oldest_use_.load(std::memory_order_relaxed);
  if (use == kNothing) return std::nullopt;
  return static_cast<std::uint32_t>(use);
}

void Recency::unlink(Ref ref) {
  const Ref newer = node(ref).newer();
  const Ref older = node(ref).older();
  if (newer != kNull) {
    node(newer).set_older(older);
  } else {
    newest_ = older;
  }
  if (older != kNull) {
    node(older).set_newer(newer);
  } else {
    oldest_ = newer;
  }
}

void Recency::link(Ref ref) {
  Node item = node(ref);
  item.set_newer(kNull);
  item.set_older(newest_);
  item.set_used(clock_.fetch_add(1, std::memory_order_relaxed));
  if (newest_ != kNull) {
    node(newest_).set_newer(ref);
  } else {
    oldest_ = ref;
  }
  newest_ = ref;
}

void Recency::publish() {
  oldest_use_.store(oldest_ == kNull ? kNothing : node(oldest_).used(), std::memory_order_relaxed);
}

std::size_t charge_of(std::size_t node_bytes) {
  return Slab::cost(node_bytes) + PartitionTable::kBytesPerEntry;
}

Shard::Spot Shard::find(std::uint32_t hash, const Key& key) const {
  const std::size_t index = table_.find(hash, [&](std::uint32_t entry) {
    const Ref ref = any_of(entry);
    // The rest of an item is mostly needed next, and is as slow to fetch as its beginning.
    __builtin_prefetch(slab_.at(ref) + 64);
    __builtin_prefetch(slab_.at(ref) + 128);
    return node(ref).in(key.partition);
  });
  if (index == PartitionTable::kNone) return {};
  const std::uint32_t entry = table_[index].entry;
  if (!is_series(entry)) return {index, node(entry).sort() == key.sort ? entry : kNull};
  const auto found = series(entry).find(key.sort);
  return {index, found == series(entry).end() ? kNull : found->second};
}

void Shard::fetch_item(std::uint32_t hash) const {
  const std::size_t index = table_.find(hash, [](std::uint32_t) { return true; });
  if (index == PartitionTable::kNone) return slab_.fetch_room();
  if (is_series(table_[index].entry)) return;
  const std::byte* item = slab_.at(table_[index].entry);
  __builtin_prefetch(item);
  __builtin_prefetch(item + 64);
}

Ref Shard::any_of(std::uint32_t entry) const {
  return is_series(entry) ? series(entry).begin()->second : entry;
}

void Shard::put(const Spot& spot, std::uint32_t hash, const Draft& draft) {
  if (spot.ref == kNull) {
    const Ref made = make(draft);
    if (spot.index == PartitionTable::kNone) {
      table_.insert(hash, made);
    } else {
      add_to_partition(spot, draft.key.sort, made);
    }
    return;
  }
  if (node(spot.ref).head() == draft.head()) {
    node(spot.ref).write(draft);
    return touch(spot.ref);
  }
  const Ref made = make(draft);
  const std::uint32_t entry = table_[spot.index].entry;
  if (is_series(entry)) {
    series(entry)[draft.key.sort] = made;
  } else {
    table_.set(spot.index, made);
  }
  destroy(spot.ref);
}

void Shard::add_to_partition(const Spot& spot, std::int64_t sort, Ref ref) {
  std::uint32_t entry = table_[spot.index].entry;
  if (!is_series(entry)) {
    const Ref lone = entry;
    entry = new_series();
    series(entry).emplace(node(lone).sort(), lone);
    table_.set(spot.index, entry);
  }
  series(entry).emplace(sort, ref);
}

void Shard::erase(const Spot& spot) {
  const std::uint32_t entry = table_[spot.index].entry;
  if (!is_series(entry)) {
    table_.erase(spot.index);
    return destroy(spot.ref);
  }
  Series& items = series(entry);
  items.erase(node(spot.ref).sort());
  destroy(spot.ref);
  if (items.size() > 1) return;
  table_.set(spot.index, items.begin()->second);
  series_[entry & ~kSeriesBit].reset();
  unused_series_.push_back(entry);
}

std::uint32_t Shard::new_series() {
  if (unused_series_.empty()) {
    series_.emplace_back();
    unused_series_.push_back(static_cast<std::uint32_t>(series_.size() - 1) | kSeriesBit);
  }
  const std::uint32_t entry = unused_series_.back();
  unused_series_.pop_back();
  series_[entry & ~kSeriesBit] = std::make_unique<Series>();
  return entry;
}

Ref Shard::make(const Draft& draft) {
  const std::size_t bytes = draft.node_bytes();
  const Ref ref = slab_.allocate(bytes);
  node(ref).write(draft);
  if (draft.ranked) recency_.add(ref, charge_of(bytes));
  ++items_;
  bytes_ += charge_of(bytes);
  return ref;
}

void Shard::destroy(Ref ref) {
  const std::size_t charge = charge_of(node(ref).bytes());
  --items_;
  bytes_ -= charge;
  if (node(ref).ranked()) recency_.remove(ref, charge);
  slab_.free(ref);
}

void Shard::scan(std::uint32_t hash, const ScanRequest& request, const Visit& visit) const {
  const Spot spot = find(hash, {request.partition, request.first});
  if (spot.index == PartitionTable::kNone || request.first > request.last) return;
  const std::uint32_t entry = table_[spot.index].entry;
  if (!is_series(entry)) {
    const std::int64_t sort = node(entry).sort();
    if (sort >= request.first && sort <= request.last) visit(entry, node(entry));
    return;
  }
  auto low = series(entry).lower_bound(request.first);
  auto high = series(entry).upper_bound(request.last);
  if (request.direction == Direction::ascending) {
    while (low != high && visit(low->second, node(low->second))) ++low;
  } else {
    while (low != high) {
      --high;
      if (!visit(high->second, node(high->second))) return;
    }
  }
}

void Shard::walk(const Position* after, const Visit& visit) const {
  std::vector<std::uint32_t> alike;  // Entries of one hash.
  std::size_t index = table_.lower_bound(after != nullptr ? after->hash : 0);
  while (index != PartitionTable::kNone) {
    const std::uint32_t hash = table_[index].hash;
    alike.clear();
    for (; index != PartitionTable::kNone && table_[index].hash == hash;
         index = table_.next(index + 1)) {
      alike.push_back(table_[index].entry);
    }
    const auto partition_of = [&](std::uint32_t entry) {
      return std::pair(node(any_of(entry)).home(), node(any_of(entry)).part());
    };
    std::ranges::sort(alike, {}, partition_of);
    const Position* bound = after != nullptr && hash == after->hash ? after : nullptr;
    for (const std::uint32_t entry : alike) {
      if (!walk_entry(entry, bound, visit)) return;
    }
  }
}

// False when `visit` wants no more. `after` has the hash of this entry.
bool Shard::walk_entry(std::uint32_t entry, const Position* after, const Visit& visit) const {
  std::optional<std::int64_t> passed;
  if (after != nullptr) {
    const Partition& done = after->key.partition;
    const Node any = node(any_of(entry));
    const auto order = std::pair(any.home(), any.part()) <=>
                       std::pair(std::string_view(done.home), std::string_view(done.part));
    if (order < 0) return true;
    if (order == 0) passed = after->key.sort;
  }
  if (!is_series(entry))
    return (passed && node(entry).sort() <= *passed) || visit(entry, node(entry));
  const Series& items = series(entry);
  auto next = passed ? items.upper_bound(*passed) : items.begin();
  for (; next != items.end(); ++next) {
    if (!visit(next->second, node(next->second))) return false;
  }
  return true;
}

Ref Shard::least_recently_used(const std::function<bool(const Node&)>& spared) const {
  Ref ref = recency_.oldest();
  while (ref != kNull && spared(node(ref))) ref = node(ref).newer();
  return ref;
}

Place place_of(const Partition& partition) {
  std::uint64_t hash = XXH3_64bits(partition.home.data(), partition.home.size());
  if (!partition.part.empty()) {
    hash = XXH3_64bits_withSeed(partition.part.data(), partition.part.size(), hash);
  }
  return {.shard = static_cast<std::uint32_t>(hash >> 58),
          .hash = static_cast<std::uint32_t>(hash)};
}

}  // namespace once::memory
