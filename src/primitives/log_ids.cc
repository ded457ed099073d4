// Appends whose events have ids of their own.
#include <algorithm>
#include <deque>
#include <map>

#include "once/log.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/log_append.h"
#include "primitives/log_group.h"
#include "primitives/record.h"

namespace once::logs {
namespace {

constexpr Duration kShortestIdTtl = 2 * kAttemptLife;  // No attempt outlives its ids.

// An id of an event is kept as that of a batch of one event. No batch id begins with a control
// character.
std::string id_of_event(std::string_view id) { return std::string("\x01").append(id); }
std::string id_in_batch(std::string_view batch, std::size_t place) {
  return std::string("\x02").append(batch).append("/").append(std::to_string(place));
}

Result<void> check_ids(const EventIds& ids, std::size_t events, const AppendRequest& request,
                       const Limits& limits) {
  if (ids.ids.size() != events) {
    return failure(ErrorCode::invalid, "there are as many ids as events, empty ones among them");
  }
  if (events == 0) return failure(ErrorCode::invalid, "a batch without events");
  if (events > kMaxBatchEvents) {
    return failure(ErrorCode::too_large, "a batch has at most 10000 events");
  }
  std::size_t named = request.batch.empty() ? 0 : ids.ids.size();
  for (const std::string& id : ids.ids) {
    if (id.empty()) continue;
    if (Result<void> ok = keys::check_name(id); !ok) return ok;
    if (request.batch.empty()) ++named;
  }
  const auto has_none = [](const std::string& id) { return id.empty(); };
  if (std::ranges::all_of(ids.ids, has_none)) {
    return failure(ErrorCode::invalid, "no event has an id");
  }
  if (request.expect) {
    return failure(ErrorCode::invalid, "expect does not go with ids of events");
  }
  if (ids.ttl < kShortestIdTtl || ids.ttl > kLongestIdTtl) {
    return failure(ErrorCode::invalid, "id_ttl is 2 minutes to 30 days");
  }
  constexpr std::size_t kRecords = 4;
  if (limits.writes_per_commit > 1 && named + kRecords > limits.writes_per_commit) {
    return failure(ErrorCode::too_large, "this store takes at most " +
                                             std::to_string(limits.writes_per_commit - kRecords) +
                                             " ids of events at once");
  }
  return {};
}

// What an event's id remembers: the event, and the batch that brought it. So a repeat of the batch
// tells its own events from those that were known before.
Bytes hash_in_batch(const std::vector<LogEvent>& event, std::string_view batch) {
  Bytes hash = hash_of(event);
  return batch.empty() ? hash : hash128(hash.append(batch));
}

// One event that is to be appended, and whose index it is.
struct OneEvent {
  PendingAppend append;
  std::vector<std::size_t> places;  // In the request: an id twice is stored once.
  std::optional<std::int64_t> index;
  bool is_new = false;
  bool is_of_batch = false;  // Stored by an earlier try at the same batch.
};

Result<std::deque<OneEvent>> prepare_events(const Stream& stream, std::vector<LogEvent> events,
                                            const EventIds& ids, const AppendRequest& request,
                                            const Limits& limits, Time now) {
  std::deque<OneEvent> all;
  std::map<std::string, OneEvent*> by_id;
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::string id;
    if (!ids.ids[i].empty()) {
      id = id_of_event(ids.ids[i]);
    } else if (!request.batch.empty()) {
      id = id_in_batch(request.batch, i);
    }
    if (const auto known = by_id.find(id); !id.empty() && known != by_id.end()) {
      known->second->places.push_back(i);
      continue;
    }
    std::vector<LogEvent> one;
    one.push_back(std::move(events[i]));
    Bytes hash = hash_in_batch(one, request.batch);
    Result<PendingAppend> append =
        prepare_append(stream, std::move(one), {.ttl = request.ttl}, limits, now);
    if (!append) return std::unexpected(std::move(append.error()));
    append->batch = id;
    append->hash = std::move(hash);
    append->id_expires = later(now, ids.ttl);
    all.push_back({.append = std::move(*append), .places = {i}});
    if (!id.empty()) by_id.emplace(std::move(id), &all.back());
  }
  return all;
}

// Where the event of a known id is. Empty if the id expired meanwhile.
Plan<std::optional<std::int64_t>> index_by_id(OneEvent& event, std::optional<Item> item) {
  if (!item) co_return std::nullopt;
  const Result<BatchId> id = decode_batch_id(item->value);
  if (!id) co_return std::unexpected(id.error());
  event.is_of_batch = id->hash == event.append.hash;
  std::optional<std::int64_t> offset = id->offset;
  if (!offset) {
    const Key key{batch_partition(event.append.stream), id->at};
    const std::optional<Item> found = co_await get(key);
    if (!found) co_return failure(ErrorCode::corrupt, "a log's record is gone");
    const Result<LogRecord> record = decode_log(found->value);
    if (!record) co_return std::unexpected(record.error());
    offset = record->offset_of(event.append.batch);
    if (!offset) co_return failure(ErrorCode::corrupt, "an event's id has no event");
  }
  co_return id->at + *offset;
}

// Takes over what became of one event. False if the log is closed to it.
Plan<bool> settle_event(OneEvent& event, GroupedAppend& member) {
  if (const auto* placed = std::get_if<GroupedAppend::Placed>(&member.outcome)) {
    event.index = placed->first;
    event.is_new = !placed->replayed;
    event.is_of_batch = placed->replayed;
    co_return true;
  }
  auto* const known = std::get_if<GroupedAppend::KnownId>(&member.outcome);
  const bool closed = std::holds_alternative<GroupedAppend::Closed>(member.outcome);
  if (known == nullptr && !closed) co_return true;  // Tried again.
  std::optional<Item> item;
  if (known != nullptr) item = std::move(known->id);
  if (closed && !event.append.batch.empty()) {
    const Key key = batch_id_key(event.append.stream, event.append.batch);
    item = co_await get(key);
  }
  if (item && event.append.by_one_write) {
    // Its id may have been written, and its event not.
    PendingAppend alone = event.append;
    const Result<BatchId> id = decode_batch_id(item->value);
    if (!id) co_return std::unexpected(id.error());
    event.is_of_batch = id->hash == alone.hash;
    alone.hash = id->hash;  // The first to bring the id decides what is stored.
    const AppendOutcome outcome = co_await append_by_id(std::move(alone));
    if (const auto* appended = std::get_if<Appended>(&outcome)) event.index = appended->first;
    co_return event.index.has_value();
  }
  event.index = co_await index_by_id(event, std::move(item));
  co_return event.index.has_value() || !closed;
}

// The new events, and of a batch those of its earlier tries.
AppendedEvents answer_of(const std::deque<OneEvent>& events, std::size_t count,
                         const AppendRequest& request) {
  AppendedEvents answer;
  answer.indexes.resize(count);
  for (const OneEvent& event : events) {
    for (const std::size_t place : event.places) answer.indexes[place] = *event.index;
    if (!event.is_new && (request.batch.empty() || !event.is_of_batch)) continue;
    if (!answer.appended) answer.appended = Appended{*event.index, *event.index, true};
    answer.appended->first = std::min(answer.appended->first, *event.index);
    answer.appended->last = std::max(answer.appended->last, *event.index);
    answer.appended->replayed = answer.appended->replayed && !event.is_new;
  }
  return answer;
}

}  // namespace

Plan<EventsOutcome> append_events(Stream stream, std::vector<LogEvent> events, EventIds ids,
                                  AppendRequest request, KnownEnds* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  const std::size_t count = events.size();
  if (const Result<void> ok = check_ids(ids, count, request, *limits); !ok) {
    co_return std::unexpected(ok.error());
  }
  if (stream.strategy != LogStrategy::conditional) {
    co_return failure(ErrorCode::invalid, "ids of events are for logs of strategy conditional");
  }
  Result<std::deque<OneEvent>> all =
      prepare_events(stream, std::move(events), ids, request, *limits, now);
  if (!all) co_return std::unexpected(std::move(all.error()));
  if (request.ttl) co_await trim_sometimes(all->front().append.stream);
  bool sent = false;  // Something may have been written without our knowing.
  for (int tries = 0;; ++tries) {
    std::deque<GroupedAppend> members;
    std::vector<OneEvent*> left;
    std::vector<GroupedAppend*> group;
    for (OneEvent& event : *all) {
      if (event.index) continue;
      left.push_back(&event);
      group.push_back(&members.emplace_back(event.append, known));
    }
    if (left.empty()) break;
    co_await append_together(std::move(group));
    std::optional<Error> error;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (members[i].error) {
        error = members[i].error;
        sent = sent || error->code == ErrorCode::unknown;
        continue;
      }
      const bool open = co_await settle_event(*left[i], members[i]);
      if (!open) co_return EventsOutcome(LogClosed{});
    }
    if (!error) continue;
    // Those with an id find out by it. One without may be there already.
    const Time tried = co_await store_now();
    const bool all_named = std::ranges::all_of(
        left, [](const OneEvent* event) { return !event->append.batch.empty(); });
    if (!sent || !all_named || !is_transient(*error) || tried >= left.front()->append.until) {
      if (sent) error->code = ErrorCode::unknown;
      co_return std::unexpected(*error);
    }
    co_await back_off(tries);
  }
  co_return EventsOutcome(answer_of(*all, count, request));
}

}  // namespace once::logs
