#include "primitives/log_stream.h"

#include <algorithm>
#include <span>
#include <utility>

#include "primitives/commit_resolved.h"
#include "primitives/keys.h"

namespace once::logs {
namespace {

constexpr int kMaxPages = 64;  // Read by one call; the next call continues from there.
constexpr int kRaiseTries = 5;

char letter_of(LogStrategy strategy) {
  switch (strategy) {
    case LogStrategy::conditional: return 'c';
    case LogStrategy::transaction: return 't';
    case LogStrategy::reserve: return 'r';
  }
  return '?';
}

std::string part_of(const Stream& stream) {
  return keys::log_part(letter_of(stream.strategy), stream.life);
}

Result<std::int64_t> number_in(const std::optional<Item>& item, std::int64_t otherwise) {
  if (!item) return otherwise;
  const auto* value = std::get_if<std::int64_t>(&item->value);
  if (value == nullptr) return failure(ErrorCode::corrupt, "a log's mark is not a number");
  return std::max(otherwise, *value);
}

// The end of the records that follow `at` without a hole and satisfy `fits`.
template <class Fits>
std::int64_t end_of_run(const std::vector<StoredRecord>& records, std::int64_t at, Fits fits) {
  for (const StoredRecord& next : records) {
    if (next.end() <= at) continue;
    if (next.first > at || !fits(next)) break;
    at = next.end();
  }
  return at;
}

// The first hole. Everything below the higher of the two marks is known to be settled.
Plan<std::int64_t> find_settled_end(Stream stream) {
  const std::int64_t known = co_await read_mark(stream, Mark::settled);
  const std::int64_t oldest = co_await read_mark(stream, Mark::oldest);
  std::int64_t at = std::max(known, oldest);
  const std::int64_t begin = at;
  for (int page = 0; page < kMaxPages; ++page) {
    const std::vector<StoredRecord> next = co_await read_records_from(stream, at, kPage);
    const std::int64_t end = end_of_run(next, at, [](const StoredRecord&) { return true; });
    if (end == at) break;
    at = end;
  }
  // Saves the next reader the search.
  if (at > begin) (void)co_await attempt(raise_mark(stream, Mark::settled, at));
  co_return at;
}

Plan<std::int64_t> read_head(Stream stream) {
  const Key key = head_key(stream);
  const std::optional<Item> head = co_await get(key);
  if (!head) co_return 1;
  const auto* next = std::get_if<std::int64_t>(&head->value);
  if (next == nullptr) co_return failure(ErrorCode::corrupt, "a log's head is not a number");
  co_return *next;
}

}  // namespace

Stream stream(std::string_view name_space, std::string_view name, LogStrategy strategy) {
  return {keys::log_home(name_space, name), strategy};
}

Partition batch_partition(const Stream& stream) {
  return keys::log_batches(stream.home, part_of(stream));
}

Key head_key(const Stream& stream) { return keys::log_head(stream.home, part_of(stream)); }

Key batch_id_key(const Stream& stream, std::string_view id) {
  return keys::log_batch_id(stream.home, part_of(stream), id);
}

Key mark_key(const Stream& stream, Mark mark) {
  return keys::log_mark(stream.home, part_of(stream), static_cast<std::int64_t>(mark));
}

Key life_key(const Stream& stream) {
  return keys::log_life(stream.home, letter_of(stream.strategy));
}

Plan<LifeNumber> read_life(Stream stream) {
  const Key key = life_key(stream);
  const std::optional<Item> item = co_await get(key);
  const Result<std::int64_t> number = number_in(item, 0);
  if (!number) co_return std::unexpected(number.error());
  if (!item) co_return LifeNumber{};
  co_return LifeNumber{*number, item->version, item->expiry};
}

Result<StoredRecord> decode_entry(const Entry& entry) {
  Result<LogRecord> record = decode_log(entry.item.value);
  if (!record) return std::unexpected(std::move(record.error()));
  return StoredRecord{entry.sort, entry.item.version, std::move(*record), entry.item.expiry};
}

namespace {

// One page of a scan.
Plan<std::vector<StoredRecord>> scan_page(Stream stream, Range range) {
  const ScanRequest request{.partition = batch_partition(stream),
                            .first = range.first,
                            .last = range.last,
                            .direction = range.direction,
                            .limit = range.limit};
  const ScanPage page = co_await scan(request);
  std::vector<StoredRecord> found;
  found.reserve(page.entries.size());
  for (const Entry& entry : page.entries) {
    Result<StoredRecord> record = decode_entry(entry);
    if (!record) co_return std::unexpected(std::move(record.error()));
    found.push_back(std::move(*record));
  }
  co_return std::move(found);
}

// The lowest records of a range where the store only scans downwards, by reading all of it. Empty
// if that is too far: the records seen are not the lowest.
Plan<std::vector<StoredRecord>> scan_down_to_lowest(Stream stream, Range range) {
  Range page{
      .first = range.first, .last = range.last, .direction = Direction::descending, .limit = kPage};
  std::vector<StoredRecord> found;
  for (int pages = 0; page.last >= page.first; ++pages) {
    if (pages == kMaxPages) co_return std::vector<StoredRecord>();
    std::vector<StoredRecord> next = co_await scan_page(stream, page);
    if (next.empty()) break;
    page.last = next.back().first - 1;
    std::ranges::move(next, std::back_inserter(found));
    if (found.size() > range.limit) {
      const auto kept = static_cast<std::ptrdiff_t>(range.limit);
      found.erase(found.begin(), found.end() - kept);
    }
  }
  std::ranges::reverse(found);
  co_return std::move(found);
}

// Reads by key. Guesses that the next records are as long as the last, and reads more of them ahead
// the longer the guess holds.
Plan<std::vector<StoredRecord>> read_by_key(Stream stream, Range range) {
  constexpr std::size_t kMaxAhead = 16;
  constexpr std::size_t kMaxBytes = 4U << 20;  // As a page of a scan.
  const Partition partition = batch_partition(stream);
  std::vector<StoredRecord> found;
  std::size_t bytes = 0;
  std::int64_t at = range.first;
  std::int64_t stride = 1;
  for (std::size_t ahead = 1;
       found.size() < range.limit && at <= range.last && bytes < kMaxBytes;) {
    std::vector<Key> keys;
    for (std::size_t i = 0; i < std::min(ahead, range.limit - found.size()); ++i) {
      keys.push_back({partition, at + static_cast<std::int64_t>(i) * stride});
    }
    const std::span<const Key> wanted = keys;
    const std::vector<std::optional<Item>> items = co_await get(wanted);
    std::size_t hits = 0;
    while (hits < items.size() && items[hits] && keys[hits].sort == at && at <= range.last) {
      Result<StoredRecord> record = decode_entry({at, *items[hits]});
      if (!record) co_return std::unexpected(std::move(record.error()));
      if (const auto* value = std::get_if<Bytes>(&items[hits]->value)) bytes += value->size();
      stride = record->record.count;
      at = record->end();
      const bool is_last = record->record.state == LogRecord::State::closed;
      found.push_back(std::move(*record));
      if (is_last) co_return std::move(found);
      ++hits;
    }
    if (hits == 0) break;
    ahead = hits < keys.size() ? 1 : std::min(kMaxAhead, 2 * ahead);
  }
  co_return std::move(found);
}

}  // namespace

Plan<std::vector<StoredRecord>> read_records(Stream stream, Range range) {
  const Limits* limits = co_await store_limits();
  if (range.direction == Direction::ascending && !limits->scans_ascending) {
    co_return co_await scan_down_to_lowest(stream, range);
  }
  co_return co_await scan_page(stream, range);
}

Plan<std::vector<StoredRecord>> read_adjacent(Stream stream, Range range) {
  const Limits* limits = co_await store_limits();
  if (limits->scans_ascending) co_return co_await scan_page(stream, range);
  co_return co_await read_by_key(stream, range);
}

Plan<std::vector<StoredRecord>> read_records_from(Stream stream, std::int64_t at, std::size_t limit,
                                                  std::int64_t last) {
  const Range before{.last = at, .direction = Direction::descending, .limit = 1};
  std::vector<StoredRecord> found = co_await read_records(stream, before);
  if (limit <= found.size()) co_return std::move(found);
  const std::int64_t rest = found.empty() ? at : std::max(at + 1, found.front().end());
  if (rest > last) co_return std::move(found);
  const Range after{.first = rest, .last = last, .limit = limit - found.size()};
  std::vector<StoredRecord> more = co_await read_adjacent(stream, after);
  std::ranges::move(more, std::back_inserter(found));
  co_return std::move(found);
}

Plan<std::int64_t> read_mark(Stream stream, Mark mark) {
  const Key key = mark_key(stream, mark);
  const std::optional<Item> item = co_await get(key);
  co_return number_in(item, 1);
}

Plan<StreamStart> find_start(Stream stream) {
  for (;;) {
    const std::vector<Key> keys = {life_key(stream), mark_key(stream, Mark::oldest),
                                   mark_key(stream, Mark::closed)};
    const std::span<const Key> wanted = keys;
    const std::vector<std::optional<Item>> items = co_await get(wanted);
    const Result<std::int64_t> life = number_in(items[0], 0);
    if (!life) co_return std::unexpected(life.error());
    if (*life != stream.life) {
      stream.life = *life;
      continue;
    }
    const Result<std::int64_t> oldest = number_in(items[1], 1);
    if (!oldest) co_return std::unexpected(oldest.error());
    co_return StreamStart{std::move(stream), *oldest, items[2].has_value()};
  }
}

Plan<Stream> current_life(Stream stream) {
  const LifeNumber life = co_await read_life(stream);
  stream.life = life.number;
  co_return std::move(stream);
}

// A log that was removed leaves its closed end behind for longer than anyone can believe in it, and
// for longer than its other records. So where the newest record is not that, and there is one, the
// log is the current one.
Plan<StreamEnd> find_last(Stream stream) {
  std::optional<LifeNumber> life;
  for (bool is_current = stream.strategy == LogStrategy::reserve;;) {
    const Range range{.direction = Direction::descending, .limit = 1};
    const std::vector<StoredRecord> newest = co_await read_records(stream, range);
    const bool closed = !newest.empty() && newest.front().record.state == LogRecord::State::closed;
    if ((newest.empty() || closed) && !is_current) {
      life = co_await read_life(stream);
      is_current = true;
      if (std::exchange(stream.life, life->number) != life->number) continue;
    }
    StreamEnd end{.stream = stream, .exists = !newest.empty(), .closed = closed, .life = life};
    if (!newest.empty()) end.next = newest.front().end();
    if (closed) end.gone = newest.front().record.expires;
    if (stream.strategy != LogStrategy::conditional) end.next = co_await find_end(stream);
    co_return std::move(end);
  }
}

Plan<std::monostate> raise_mark(Stream stream, Mark mark, std::int64_t value) {
  for (int tries = 1;; ++tries) {
    Write write = raise(mark_key(stream, mark), value);
    const Result<CommitOutcome> outcome = co_await attempt(commit(write));
    if (outcome) co_return std::monostate{};
    const bool again = outcome.error().code == ErrorCode::unknown && tries < kRaiseTries;
    if (!again) co_return std::unexpected(outcome.error());
    co_await back_off(tries);
  }
}

Plan<std::int64_t> find_end(Stream stream) {
  if (stream.strategy == LogStrategy::reserve) co_return co_await find_settled_end(stream);
  if (stream.strategy == LogStrategy::transaction) co_return co_await read_head(stream);
  const Range newest{.direction = Direction::descending, .limit = 1};
  const std::vector<StoredRecord> last = co_await read_records(stream, newest);
  co_return last.empty() ? 1 : last.front().end();
}

Plan<std::int64_t> trim_expired(Stream stream) {
  const Time now = co_await store_now();
  const std::int64_t oldest = co_await read_mark(stream, Mark::oldest);
  const auto is_expired = [now](const StoredRecord& record) {
    return record.record.expires <= now || record.record.state != LogRecord::State::batch;
  };
  std::int64_t at = oldest;
  std::size_t limit = 1;  // Usually there is nothing to trim.
  for (int page = 0; page < kMaxPages; ++page, limit = kPage) {
    const std::vector<StoredRecord> next = co_await read_records_from(stream, at, limit);
    const std::int64_t end = end_of_run(next, at, is_expired);
    if (end == at) break;
    at = end;
  }
  // Saves the next reader the search.
  if (at > oldest) (void)co_await attempt(raise_mark(stream, Mark::oldest, at));
  co_return at;
}

}  // namespace once::logs
