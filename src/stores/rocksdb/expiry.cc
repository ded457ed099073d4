#include "stores/rocksdb/expiry.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/process_time.h"
#include "kernel/format.h"
#include "stores/rocksdb/engine.h"

namespace once {
namespace {

// Commits on these keys wait while they are removed.
constexpr std::size_t kRemovedTogether = 128;

// A walk that removed fewer is not worth a compaction.
constexpr std::size_t kWorthCompacting = 1'000;

bool is_expired(std::string_view key, const rocksdb::Slice& value, Time now) {
  const Result<format::ItemView> item = format::decode_item(key, view_of(value));
  return item && item->expiry <= now;
}

constexpr Duration kLargeStep = std::chrono::minutes(10);
constexpr Duration kLasting = std::chrono::minutes(10);

StoreTime::Lead lead_of(Clock& clock) {
  if (&clock == &system_clock()) return lead_of_system_clock;
  return [] { return Duration(0); };
}

}  // namespace

StoreTime::StoreTime(Clock& clock, Lead lead)
    : clock_(clock), lead_(lead ? std::move(lead) : lead_of(clock)) {}

void StoreTime::start_no_earlier_than(Time recorded) {
  opened_ = clock_.now();
  recorded_ = recorded;
  has_lasted_ = recorded == Time::min();
  if (recorded > opened_) ahead_.store((recorded - opened_).count(), std::memory_order_relaxed);
}

Time StoreTime::to_record() {
  const Duration open_for = clock_.now() - opened_;
  if (open_for >= kLasting && std::chrono::abs(lead_()) < kLargeStep) has_lasted_ = true;
  return has_lasted_ ? now() : std::min(now(), later(recorded_, kLargeStep + open_for));
}

bool ExpiryFilter::Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string*,
                          bool*) const {
  if (key.empty() || key[0] != format::kItemTag) return false;
  const Result<format::ItemView> item = format::decode_item(view_of(key), view_of(value));
  return item && item->expiry != kNever && item->expiry <= time_.now();
}

Result<Swept> Sweeper::sweep(std::size_t limit) {
  if (Result<void> open = writer_.check_open(); !open) return std::unexpected(open.error());
  const Lock lock(mutex_);
  Swept swept;
  const Result<std::vector<std::string>> expired = find_expired(limit, swept);
  if (!expired) return std::unexpected(expired.error());
  for (std::size_t i = 0; i < expired->size(); i += kRemovedTogether) {
    const std::size_t count = std::min(kRemovedTogether, expired->size() - i);
    const Result<std::size_t> removed = remove(std::span(*expired).subspan(i, count));
    if (!removed) return std::unexpected(removed.error());
    swept.removed += *removed;
  }
  count(swept);
  return swept;
}

// What is rewritten is at most as much as was removed.
void Sweeper::count(const Swept& swept) {
  walk_.examined += swept.examined;
  walk_.removed += swept.removed;
  if (!swept.finished) return;
  const Swept walk = std::exchange(walk_, {});
  const bool worthwhile = walk.removed >= kWorthCompacting && 2 * walk.removed >= walk.examined;
  if (!worthwhile || compacting_.exchange(true)) return;
  compaction_ = std::jthread([this] { compact(); });
}

// A failure leaves the files as they are; the next commit reports what is wrong with the disk.
void Sweeper::compact() {
  rocksdb::CompactRangeOptions how;
  how.exclusive_manual_compaction = false;
  how.canceled = &cancelled_;
  static_cast<void>(db_.CompactRange(how, nullptr, nullptr));
  compacting_ = false;
}

Result<std::vector<std::string>> Sweeper::find_expired(std::size_t limit, Swept& swept) {
  std::vector<std::string> expired;
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(how));
  const Time now = time_.now();
  at->Seek(next_.empty() ? std::string(1, format::kItemTag) : next_);
  for (; at->Valid() && swept.examined < limit; at->Next()) {
    ++swept.examined;
    const std::string_view key = view_of(at->key());
    if (is_expired(key, at->value(), now)) expired.emplace_back(key);
  }
  if (!at->status().ok()) return std::unexpected(error_of(at->status(), "cannot sweep"));
  swept.finished = !at->Valid();
  next_ = swept.finished ? std::string() : at->key().ToString();
  return expired;
}

// Reads again under the lock: the item may have been replaced since.
Result<std::size_t> Sweeper::remove(std::span<const std::string> keys) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const Stripes::Held held(stripes_, views);
  const Time now = time_.now();
  rocksdb::WriteBatch batch;
  rocksdb::PinnableSlice value;
  for (const std::string& key : keys) {
    value.Reset();
    const rocksdb::Status status = db_.Get({}, db_.DefaultColumnFamily(), key, &value);
    if (status.ok() && is_expired(key, value, now)) batch.Delete(key);
  }
  if (batch.Count() == 0) return 0;
  if (Result<void> written = writer_.write_unsynced(batch); !written) {
    return std::unexpected(std::move(written.error()));
  }
  return batch.Count();
}

}  // namespace once
