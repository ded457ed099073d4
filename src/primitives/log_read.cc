#include <algorithm>
#include <limits>

#include "primitives/log_stream.h"

namespace once::logs {
namespace {

constexpr int kReadTries = 8;  // Each fails only if a trim ran meanwhile.

// The indexes that can be read: [oldest, end).
struct ReadableRange {
  std::int64_t oldest = 1;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
};

// A page being filled. `stale`: the records do not fit the range, which has moved.
struct PageDraft {
  LogPage page;
  bool stale = false;
  bool met_expired = false;
};

LogEntry entry_at(const StoredRecord& stored, std::int64_t index) {
  if (stored.record.state == LogRecord::State::blank) {
    return {.index = index, .time = stored.record.appended, .data = {}, .is_void = true};
  }
  const LogEvent& event = stored.record.events[static_cast<std::size_t>(index - stored.first)];
  return {.index = index, .time = event.time.value_or(stored.record.appended), .data = event.data};
}

bool is_expired(const StoredRecord& stored, Time now) {
  return stored.record.state == LogRecord::State::batch && stored.record.expires <= now;
}

PageDraft fill_ascending(const std::vector<StoredRecord>& records, const LogRead& request,
                         ReadableRange range, Time now) {
  PageDraft draft;
  std::int64_t at = std::max(request.from, range.oldest);
  if (!records.empty() && records.front().end() < at) at = records.front().end();
  for (const StoredRecord& next : records) {
    if (next.end() <= at || at >= range.end) continue;
    if (next.first > at || next.record.state == LogRecord::State::trimmed) {
      draft.stale = true;
      break;
    }
    draft.met_expired |= is_expired(next, now);
    for (; at < next.end() && draft.page.events.size() < request.limit; ++at) {
      draft.page.events.push_back(entry_at(next, at));
    }
    if (at < next.end()) break;
  }
  draft.page.next = records.empty() ? range.oldest : std::min(at, range.end);
  return draft;
}

PageDraft fill_descending(const std::vector<StoredRecord>& records, const LogRead& request,
                          ReadableRange range, Time now) {
  PageDraft draft;
  std::int64_t at = std::min(request.from, range.end - 1);
  if (!records.empty()) at = std::min(at, records.front().end() - 1);
  for (const StoredRecord& next : records) {
    if (at < range.oldest) break;
    if (next.end() <= at || next.record.state == LogRecord::State::trimmed) {
      draft.stale = true;
      break;
    }
    draft.met_expired |= is_expired(next, now);
    const std::int64_t lowest = std::max(next.first, range.oldest);
    for (; at >= lowest && draft.page.events.size() < request.limit; --at) {
      draft.page.events.push_back(entry_at(next, at));
    }
    if (at >= lowest) break;
  }
  draft.page.next = records.empty() || at < range.oldest ? 0 : at;
  return draft;
}

Plan<PageDraft> read_within(Stream stream, LogRead request, ReadableRange range) {
  const Time now = co_await store_now();
  if (request.order == Direction::ascending) {
    const std::int64_t from = std::max(request.from, range.oldest);
    const std::vector<StoredRecord> records =
        co_await read_records_from(stream, from, request.limit);
    co_return fill_ascending(records, request, range, now);
  }
  const Range below{.last = std::min(request.from, range.end - 1),
                    .direction = Direction::descending,
                    .limit = request.limit};
  const std::vector<StoredRecord> found = co_await read_records(stream, below);
  co_return fill_descending(found, request, range, now);
}

// Only a log that reserves can have records above a hole.
Plan<ReadableRange> readable_range(Stream stream) {
  ReadableRange range;
  range.oldest = co_await read_mark(stream, Mark::oldest);
  if (stream.strategy == LogStrategy::reserve) range.end = co_await find_end(stream);
  co_return range;
}

Result<void> check_read(const LogRead& request) {
  if (request.from < 0) return failure(ErrorCode::invalid, "an index is not negative");
  if (request.limit < 1 || request.limit > kMaxPage) {
    return failure(ErrorCode::invalid, "limit must be 1 to 10000");
  }
  return {};
}

}  // namespace

Plan<LogPage> read(Stream stream, LogRead request) {
  const Result<void> sound = check_read(request);
  if (!sound) co_return std::unexpected(sound.error());
  std::int64_t oldest = 0;  // After expired events were trimmed; 0 before.
  for (int tries = 0; tries < kReadTries; ++tries) {
    ReadableRange range = co_await readable_range(stream);
    range.oldest = std::max(range.oldest, oldest);
    PageDraft draft = co_await read_within(stream, request, range);
    if (draft.stale) continue;
    if (!draft.met_expired || oldest > 0) co_return std::move(draft.page);
    // Expired events are trimmed first, unless an older one is still kept.
    oldest = co_await trim_expired(stream);
    if (oldest <= range.oldest) co_return std::move(draft.page);
  }
  co_return failure(ErrorCode::corrupt, "a log has a hole where none can be");
}

Plan<LogEnds> ends(Stream stream) {
  LogEnds ends;
  ends.oldest = co_await trim_expired(stream);
  ends.next = co_await find_end(stream);
  co_return ends;
}

}  // namespace once::logs
