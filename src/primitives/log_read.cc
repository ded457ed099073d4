#include <algorithm>
#include <iterator>
#include <limits>

#include "primitives/log_stream.h"

namespace once::logs {
namespace {

constexpr int kReadTries = 8;  // Each fails only if a trim ran meanwhile.

// The indexes that can be read: [oldest, end).
struct ReadableRange {
  Stream stream;
  bool closed = false;
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

bool has_end(const std::vector<StoredRecord>& records) {
  return std::ranges::any_of(records, [](const StoredRecord& stored) {
    return stored.record.state == LogRecord::State::closed;
  });
}

bool is_expired(const StoredRecord& stored, Time now) {
  return stored.record.state == LogRecord::State::batch && stored.record.expires <= now;
}

PageDraft fill_ascending(const std::vector<StoredRecord>& records, const LogRead& request,
                         const ReadableRange& range, Time now) {
  PageDraft draft;
  draft.page.closed = range.closed || has_end(records);
  std::int64_t at = std::max(request.from, range.oldest);
  if (!records.empty() && records.front().end() < at) at = records.front().end();
  for (const StoredRecord& next : records) {
    if (next.end() <= at || at >= range.end) continue;
    if (next.first > at || next.record.state == LogRecord::State::trimmed) {
      draft.stale = true;
      break;
    }
    if (request.since && draft.page.events.empty() && next.record.appended < *request.since) {
      at = next.end();  // Appended after the place of `since` was found, and yet before that time.
      continue;
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
                          const ReadableRange& range, Time now) {
  PageDraft draft;
  draft.page.closed = range.closed || has_end(records);
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

Plan<PageDraft> read_within(LogRead request, const ReadableRange& range) {
  const Time now = co_await store_now();
  if (request.order == Direction::ascending) {
    const std::int64_t from = std::max(request.from, range.oldest);
    // What begins behind the page is not read: a batch may be much longer than a page. The record
    // right behind it may say that the log is closed.
    const auto length = static_cast<std::int64_t>(request.limit);
    const std::int64_t last = from > std::numeric_limits<std::int64_t>::max() - length
                                  ? std::numeric_limits<std::int64_t>::max()
                                  : from + length;
    const std::vector<StoredRecord> records =
        co_await read_records_from(range.stream, from, request.limit, last);
    co_return fill_ascending(records, request, range, now);
  }
  Range below{.last = std::min(request.from, range.end - 1),
              .direction = Direction::descending,
              .limit = request.limit};
  std::vector<StoredRecord> found = co_await read_records(range.stream, below);
  if (has_end(found) && found.size() == below.limit && found.back().first > 1) {
    // The record that closes a log has no event.
    below.last = found.back().first - 1;
    below.limit = 1;
    std::vector<StoredRecord> more = co_await read_records(range.stream, below);
    std::ranges::move(more, std::back_inserter(found));
  }
  co_return fill_descending(found, request, range, now);
}

// Only a log that reserves can have records above a hole.
Plan<ReadableRange> readable_range(Stream stream) {
  StreamStart start = co_await find_start(std::move(stream));
  ReadableRange range{
      .stream = std::move(start.stream), .closed = start.closed, .oldest = start.oldest};
  if (range.stream.strategy == LogStrategy::reserve) range.end = co_await find_end(range.stream);
  co_return std::move(range);
}

// The first index that was appended at `since` or later, by halving: records are in the order of
// their times as far as their appenders' clocks agree.
Plan<std::int64_t> find_since(Stream stream, std::int64_t oldest, Time since) {
  std::int64_t low = oldest;
  std::int64_t high = co_await find_end(stream);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const Range at{.last = middle, .direction = Direction::descending, .limit = 1};
    const std::vector<StoredRecord> found = co_await read_records(stream, at);
    if (found.empty()) break;
    if (found.front().record.appended < since) {
      low = std::max(low + 1, found.front().end());
    } else {
      high = std::min(high - 1, std::max(low, found.front().first));
    }
  }
  co_return low;
}

Result<void> check_read(const LogRead& request) {
  if (request.from < 0) return failure(ErrorCode::invalid, "an index is not negative");
  if (request.since && request.order != Direction::ascending) {
    return failure(ErrorCode::invalid, "since goes with order=asc");
  }
  if (request.limit < 1 || request.limit > kMaxPage) {
    return failure(ErrorCode::invalid, "limit must be 1 to 10000");
  }
  return {};
}

// Whether the log is closed and its time is over.
Plan<bool> is_over(Stream stream) {
  const StreamEnd last = co_await find_last(std::move(stream));
  const Time now = co_await store_now();
  co_return last.closed&& last.gone <= now;
}

}  // namespace

Plan<LogPage> read(Stream stream, LogRead request) {
  const Result<void> sound = check_read(request);
  if (!sound) co_return std::unexpected(sound.error());
  std::int64_t oldest = 0;  // After expired events were trimmed; 0 before.
  for (int tries = 0; tries < kReadTries; ++tries) {
    ReadableRange range = co_await readable_range(stream);
    range.oldest = std::max(range.oldest, oldest);
    if (request.since) {
      request.from = co_await find_since(range.stream, range.oldest, *request.since);
    }
    PageDraft draft = co_await read_within(request, range);
    if (draft.page.closed && co_await is_over(range.stream)) {
      (void)co_await remove(range.stream);
      continue;
    }
    if (draft.stale) continue;
    if (!draft.met_expired || oldest > 0) co_return std::move(draft.page);
    // Expired events are trimmed first, unless an older one is still kept.
    oldest = co_await trim_expired(range.stream);
    if (oldest <= range.oldest) co_return std::move(draft.page);
  }
  co_return failure(ErrorCode::corrupt, "a log has a hole where none can be");
}

Plan<LogEnds> ends(Stream stream) {
  const StreamEnd last = co_await find_last(std::move(stream));
  const Time now = co_await store_now();
  if (last.closed && last.gone <= now) {
    (void)co_await remove(last.stream);
    co_return LogEnds{};
  }
  LogEnds ends{.next = last.next, .closed = last.closed};
  ends.oldest = co_await trim_expired(last.stream);
  ends.next = std::max(ends.next, ends.oldest);
  co_return ends;
}

}  // namespace once::logs
