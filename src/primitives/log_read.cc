#include <algorithm>
#include <limits>

#include "primitives/log_stream.h"

namespace once::logs {
namespace {

constexpr int kTries = 8;  // Each lost to a trim that went on meanwhile.

// What a reader is allowed to see: [oldest, end).
struct Bounds {
  std::int64_t oldest = 1;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
};

// A page in the making. `stale`: the records do not fit the bounds, which have moved.
struct Reading {
  LogPage page;
  bool stale = false;
  bool met_expired = false;
};

LogEntry entry_at(const Stored& stored, std::int64_t index) {
  if (stored.record.state == LogRecord::State::blank) {
    return {.index = index, .time = stored.record.appended, .data = {}, .is_void = true};
  }
  const LogEvent& event = stored.record.events[static_cast<std::size_t>(index - stored.first)];
  return {.index = index, .time = event.time.value_or(stored.record.appended), .data = event.data};
}

bool is_over(const Stored& stored, Time now) {
  return stored.record.state == LogRecord::State::batch && stored.record.expires <= now;
}

Reading upwards(const std::vector<Stored>& records, const LogRead& request, Bounds bounds,
                Time now) {
  Reading reading;
  std::int64_t at = std::max(request.from, bounds.oldest);
  if (!records.empty() && records.front().end() < at) at = records.front().end();
  for (const Stored& next : records) {
    if (next.end() <= at || at >= bounds.end) continue;
    if (next.first > at || next.record.state == LogRecord::State::trimmed) {
      reading.stale = true;
      break;
    }
    reading.met_expired |= is_over(next, now);
    for (; at < next.end() && reading.page.events.size() < request.limit; ++at) {
      reading.page.events.push_back(entry_at(next, at));
    }
    if (at < next.end()) break;
  }
  reading.page.next = records.empty() ? bounds.oldest : std::min(at, bounds.end);
  return reading;
}

Reading downwards(const std::vector<Stored>& records, const LogRead& request, Bounds bounds,
                  Time now) {
  Reading reading;
  std::int64_t at = std::min(request.from, bounds.end - 1);
  if (!records.empty()) at = std::min(at, records.front().end() - 1);
  for (const Stored& next : records) {
    if (at < bounds.oldest) break;
    if (next.end() <= at || next.record.state == LogRecord::State::trimmed) {
      reading.stale = true;
      break;
    }
    reading.met_expired |= is_over(next, now);
    const std::int64_t lowest = std::max(next.first, bounds.oldest);
    for (; at >= lowest && reading.page.events.size() < request.limit; --at) {
      reading.page.events.push_back(entry_at(next, at));
    }
    if (at >= lowest) break;
  }
  reading.page.next = records.empty() || at < bounds.oldest ? 0 : at;
  return reading;
}

Plan<Reading> read_within(Stream stream, LogRead request, Bounds bounds) {
  const Time now = co_await store_now();
  if (request.order == Direction::ascending) {
    const std::int64_t from = std::max(request.from, bounds.oldest);
    const std::vector<Stored> records = co_await records_from(stream, from, request.limit);
    co_return upwards(records, request, bounds, now);
  }
  const Range range{.last = std::min(request.from, bounds.end - 1),
                    .direction = Direction::descending,
                    .limit = request.limit};
  const std::vector<Stored> found = co_await records(stream, range);
  co_return downwards(found, request, bounds, now);
}

// Only a log that reserves has records above an index that is neither written nor void.
Plan<Bounds> bounds_of(Stream stream) {
  Bounds bounds;
  bounds.oldest = co_await mark_of(stream, Mark::oldest);
  if (stream.strategy == LogStrategy::reserve) bounds.end = co_await end_of(stream);
  co_return bounds;
}

Result<void> check(const LogRead& request) {
  if (request.from < 0) return failure(ErrorCode::invalid, "an index is not negative");
  if (request.limit < 1 || request.limit > kMaxPage) {
    return failure(ErrorCode::invalid, "limit must be 1 to 10000");
  }
  return {};
}

}  // namespace

Plan<LogPage> read(Stream stream, LogRead request) {
  const Result<void> sound = check(request);
  if (!sound) co_return std::unexpected(sound.error());
  std::int64_t oldest = 0;  // As the expiry of events gave it, once it was asked.
  for (int tries = 0; tries < kTries; ++tries) {
    Bounds bounds = co_await bounds_of(stream);
    bounds.oldest = std::max(bounds.oldest, oldest);
    Reading reading = co_await read_within(stream, request, bounds);
    if (reading.stale) continue;
    if (!reading.met_expired || oldest > 0) co_return std::move(reading.page);
    // What is over is trimmed first, if nothing older is still to be kept.
    oldest = co_await expire(stream);
    if (oldest <= bounds.oldest) co_return std::move(reading.page);
  }
  co_return failure(ErrorCode::corrupt, "a log has a hole where none can be");
}

Plan<LogEnds> ends(Stream stream) {
  LogEnds ends;
  ends.oldest = co_await expire(stream);
  ends.next = co_await end_of(stream);
  co_return ends;
}

}  // namespace once::logs
