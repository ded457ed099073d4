#include "once/memory_store.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "stores/memory/committer.h"
#include "stores/memory/evictor.h"
#include "stores/memory/shards.h"

namespace once {
namespace memory {
namespace {

constexpr Limits kLimits = {.writes_per_commit = 100'000,
                            .value_bytes = kMaxValueBytes,
                            .partition_bytes = kMaxPartitionBytes};

// A page of list() ends early at about so many bytes of values.
constexpr std::size_t kListBytes = 4U << 20;

// A sweep lets others have the shard after so many items.
constexpr std::size_t kSweepStretch = 256;

// A cursor of list(), the key that was examined last:
//
//   4 checksum of the rest | 2 length of home | 8 sort | home | part
constexpr std::size_t kHomeLengthAt = 4;
constexpr std::size_t kSortAt = 6;
constexpr std::size_t kHomeAt = 14;

std::uint32_t checksum_of(std::string_view cursor) {
  const std::string_view rest = cursor.substr(kHomeLengthAt);
  return XXH32(rest.data(), rest.size(), 0);
}

template <class T>
T read_at(std::string_view cursor, std::size_t offset) {
  T value;
  std::memcpy(&value, cursor.data() + offset, sizeof value);
  return value;
}

template <class T>
void write_at(std::string& cursor, std::size_t offset, T value) {
  std::memcpy(cursor.data() + offset, &value, sizeof value);
}

std::string cursor_after(const Key& key) {
  std::string cursor(kHomeAt, '\0');
  write_at(cursor, kHomeLengthAt, static_cast<std::uint16_t>(key.partition.home.size()));
  write_at(cursor, kSortAt, key.sort);
  cursor += key.partition.home;
  cursor += key.partition.part;
  write_at(cursor, 0, checksum_of(cursor));
  return cursor;
}

// Empty unless cursor_after() made it.
std::optional<Key> key_of_cursor(std::string_view cursor) {
  if (cursor.size() < kHomeAt) return {};
  if (read_at<std::uint32_t>(cursor, 0) != checksum_of(cursor)) return {};
  const std::size_t home_bytes = read_at<std::uint16_t>(cursor, kHomeLengthAt);
  if (home_bytes > cursor.size() - kHomeAt) return {};
  return Key{.partition = {.home = std::string(cursor.substr(kHomeAt, home_bytes)),
                           .part = std::string(cursor.substr(kHomeAt + home_bytes))},
             .sort = read_at<std::int64_t>(cursor, kSortAt)};
}

class Memory final : public MemoryStore {
 public:
  Memory(const MemoryOptions& options, Clock& clock) : clock_(clock), room_(options.max_bytes) {}

  const Limits& limits() const override { return kLimits; }
  std::string describe() const override;
  Time now() override { return clock_.now(); }
  Result<Swept> sweep(std::size_t limit) override;
  MemoryUsage usage() const override;

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override;
  Result<ScanPage> do_scan(const ScanRequest& request) override;
  Result<ListPage> do_list(const ListRequest& request) override;
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    return committer_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    return committer_.commit_each(transactions);
  }

 private:
  std::optional<Item> get_one(const Key& key);
  std::optional<Key> list_shard(std::size_t index, const std::optional<Key>& after,
                                const ListRequest& request, ListPage& page, std::size_t& left);
  std::optional<Key> sweep_shard(std::size_t index, const std::optional<Key>& after,
                                 std::size_t limit, Swept& swept);

  Clock& clock_;

  // Safe to share by themselves.
  mutable Shards shards_;
  Room room_;
  Evictor evictor_{shards_, room_};
  Committer committer_{shards_, room_, evictor_, clock_};

  Mutex sweeping_;
  std::optional<Key> swept_to_ ONCE_GUARDED_BY(sweeping_);
};

std::optional<Shard::Position> position_of(const std::optional<Key>& after) {
  if (!after) return std::nullopt;
  return Shard::Position{place_of(after->partition).hash, *after};
}

const Shard::Position* pointer_to(const std::optional<Shard::Position>& position) {
  return position ? &*position : nullptr;
}

std::string Memory::describe() const {
  std::string text = "memory, forgotten when the process ends";
  if (room_.bounded()) text += ", at most " + std::to_string(room_.bound()) + " bytes";
  return text;
}

MemoryUsage Memory::usage() const {
  // One shard after the other: nobody waits for all of them. Their sum is of no one moment, so a
  // bounded store asks the room, which knows.
  MemoryUsage usage;
  for (std::size_t i = 0; i < kShards; ++i) {
    LockedShards one(shards_, 1ULL << i);
    usage.items += one[i].items();
    usage.bytes += one[i].bytes();
  }
  if (room_.bounded()) usage.bytes = room_.taken();
  usage.evicted = evictor_.evicted();
  return usage;
}

std::optional<Item> Memory::get_one(const Key& key) {
  const Place place = place_of(key.partition);
  GuardedShard& guarded = shards_[place.shard];
  const Lock lock(guarded.mutex);
  const Ref ref = guarded.shard.find(place.hash, key).ref;
  if (ref == kNull) return std::nullopt;
  const Node node = guarded.shard.node(ref);
  if (node.expires() && node.expiry() <= clock_.now()) return std::nullopt;
  guarded.shard.touch(ref);
  return node.item();
}

Result<std::vector<std::optional<Item>>> Memory::do_get(std::span<const Key> keys) {
  std::vector<std::optional<Item>> items;
  items.reserve(keys.size());
  for (const Key& key : keys) items.push_back(get_one(key));
  return items;
}

Result<ScanPage> Memory::do_scan(const ScanRequest& request) {
  const Place place = place_of(request.partition);
  GuardedShard& guarded = shards_[place.shard];
  const Lock lock(guarded.mutex);
  Shard& shard = guarded.shard;
  const Time now = clock_.now();
  ScanPage page;
  std::vector<Ref> seen;
  std::size_t bytes = 0;
  shard.scan(place.hash, request, [&](Ref ref, const Node& node) {
    if (node.expiry() <= now) return true;
    bytes += node.value_bytes();
    page.more = seen.size() == request.limit || (bytes > request.max_bytes && !seen.empty());
    if (page.more) return false;
    page.entries.push_back({node.sort(), node.item()});
    seen.push_back(ref);
    return true;
  });
  for (const Ref ref : seen) shard.touch(ref);
  return page;
}

Result<ListPage> Memory::do_list(const ListRequest& request) {
  std::optional<Key> after;
  if (!request.cursor.empty()) {
    after = key_of_cursor(request.cursor);
    if (!after) return failure(ErrorCode::invalid, "not a cursor of this store");
  }
  ListPage page;
  std::size_t left = request.limit;
  const std::size_t first = after ? place_of(after->partition).shard : 0;
  for (std::size_t i = first; i < kShards; ++i) {
    if (const auto last = list_shard(i, after, request, page, left)) {
      page.cursor = cursor_after(*last);
      break;
    }
    after.reset();
  }
  return page;
}

// The key examined last if the page is full; nothing at the end of the shard.
std::optional<Key> Memory::list_shard(std::size_t index, const std::optional<Key>& after,
                                      const ListRequest& request, ListPage& page,
                                      std::size_t& left) {
  const auto position = position_of(after);
  GuardedShard& guarded = shards_[index];
  const Lock lock(guarded.mutex);
  const Time now = clock_.now();
  std::size_t bytes = 0;
  std::optional<Key> last;
  guarded.shard.walk(pointer_to(position), [&](Ref, const Node& node) {
    if (node.home().starts_with(request.home_prefix) && node.expiry() > now) {
      page.items.push_back({node.key(), node.item()});
      bytes += node.value_bytes();
    }
    if (--left > 0 && bytes < kListBytes) return true;
    last = node.key();
    return false;
  });
  return last;
}

Result<Swept> Memory::sweep(std::size_t limit) {
  const Lock lock(sweeping_);
  Swept swept;
  std::size_t index = swept_to_ ? place_of(swept_to_->partition).shard : 0;
  while (index < kShards && swept.examined < limit) {
    swept_to_ = sweep_shard(index, swept_to_, limit - swept.examined, swept);
    if (!swept_to_) ++index;
  }
  swept.finished = index == kShards;
  return swept;
}

// The key examined last; nothing at the end of the shard.
std::optional<Key> Memory::sweep_shard(std::size_t index, const std::optional<Key>& after,
                                       std::size_t limit, Swept& swept) {
  const auto position = position_of(after);
  std::size_t left = std::min(limit, kSweepStretch);
  GuardedShard& guarded = shards_[index];
  const Lock lock(guarded.mutex);
  Shard& shard = guarded.shard;
  const Time now = clock_.now();
  std::vector<Key> expired;
  std::optional<Key> last;
  shard.walk(pointer_to(position), [&](Ref, const Node& node) {
    ++swept.examined;
    if (node.expiry() <= now) expired.push_back(node.key());
    if (--left > 0) return true;
    last = node.key();
    return false;
  });
  const std::size_t before = shard.bytes();
  for (const Key& key : expired) shard.erase(shard.find(place_of(key.partition).hash, key));
  if (room_.bounded()) room_.give_back(before - shard.bytes());
  swept.removed += expired.size();
  return last;
}

}  // namespace
}  // namespace memory

std::unique_ptr<MemoryStore> open_memory(MemoryOptions options, Clock& clock) {
  return std::make_unique<memory::Memory>(options, clock);
}

}  // namespace once
