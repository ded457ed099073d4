// A log gives events consecutive indexes from 1. Appenders never share an index and never leave a
// hole; readers never see an index before all lower ones, and a replay gives the same bytes.
//
// How an appender gets its indexes is the stream's strategy, which is part of its identity: two
// strategies under one name are two streams.
//   conditional  one write at the log's end, if that index is free. The default; any store.
//   transaction  a versioned head and the events in one commit. Stores with two writes per commit.
//   reserve      an atomic counter first, the events later. An appender that dies in between leaves
//                its range open; readers stop before it until heal() makes it void.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "once/plan.h"

namespace once {

inline constexpr std::size_t kMaxBatchEvents = 10'000;

// How long a batch id is kept, from the first attempt with it.
inline constexpr Duration kBatchMemory = std::chrono::hours(24);

enum class LogStrategy : std::uint8_t { conditional, transaction, reserve };

struct LogEvent {
  Bytes data;
  std::optional<Time> time;  // The caller's own; otherwise when it was appended.

  friend bool operator==(const LogEvent&, const LogEvent&) = default;
};

struct AppendRequest {
  // A repeat under an equal id appends nothing and gets the first answer. 1 to 512 bytes of UTF-8
  // without control characters, or empty: then a repeat is another batch.
  std::string batch;

  // Append only if the first event gets this index. Not with `reserve`, which cannot know.
  std::optional<std::int64_t> expect;

  // How long the events are kept. Events are removed from the old end only: one is kept beyond its
  // ttl while an older one is still within its own.
  std::optional<Duration> ttl;
};

struct Appended {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool replayed = false;  // By an earlier append under the same batch id.
};
struct NotNext {  // Nothing was appended: `expect` was not the next index, but this.
  std::int64_t next = 0;
};
struct OtherBatch {};  // Nothing was appended: the batch id was used with other events.
struct LogClosed {};   // Nothing was appended: the log is closed.
using AppendOutcome = std::variant<Appended, NotNext, OtherBatch, LogClosed>;

struct LogEntry {
  std::int64_t index = 0;
  Time time;
  Bytes data;
  bool is_void = false;  // Reserved by an appender that never wrote it.

  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

struct LogRead {
  std::int64_t from = 1;  // Below the oldest, or above the newest in descending order: from there.
  std::size_t limit = 1'000;  // Events, from 1 to 10,000; a page may hold fewer.
  Direction order = Direction::ascending;

  // In place of `from`: begins with the first event that was appended at this time or later, by the
  // clocks of its appenders. Ascending only.
  std::optional<Time> since = std::nullopt;
};

struct LogPage {
  std::vector<LogEntry> events;

  // Where the next page begins. Ascending, and at the end: the index that will be appended next.
  // Descending: 0 when the oldest was reached.
  std::int64_t next = 1;

  bool closed = false;  // Nothing will be appended.
};

struct LogEnds {
  std::int64_t oldest = 1;  // The first index that can be read; `next` in an empty log.
  std::int64_t next = 1;    // The first index that cannot be read yet.
  bool closed = false;

  friend bool operator==(const LogEnds&, const LogEnds&) = default;
};

enum class LogRemoval : std::uint8_t {
  removed,
  open,    // Nothing was removed: only a closed log can be.
  absent,  // There is none.
};

struct ListedLog {
  std::string stream;
  LogEnds ends;
};

struct LogList {
  std::vector<ListedLog> logs;
  std::string cursor;  // Empty at the end. A page may be empty although a cursor follows.
};

// The plans.
namespace logs {

// Ids of single events: one that the stream knows keeps its index and is not stored again, however
// redeliveries are cut into batches.
struct EventIds {
  std::vector<std::string> ids;  // One for each event, as a batch id; empty for one without.
  Duration ttl = kBatchMemory;   // How long they are known: 2 minutes to 30 days.
};
struct AppendedEvents {
  std::optional<Appended> appended;   // The new ones, adjacent; empty if none was new.
  std::vector<std::int64_t> indexes;  // One for each event, in order.
};
using EventsOutcome = std::variant<AppendedEvents, LogClosed>;

// Names a stream. Made by stream().
struct Stream {
  std::string home;
  LogStrategy strategy = LogStrategy::conditional;

  // How many logs of that name were removed before this one. The plans below find it out.
  std::int64_t life = 0;
};
Stream stream(std::string_view name_space, std::string_view name,
              LogStrategy strategy = LogStrategy::conditional);

// The last known ends of streams, which save an append the search for the end. Only a hint: every
// old end of a log is the first index of a batch that exists (docs/hazards.md#h1), so an append
// there loses and learns the next index. Bounded. Shared by all appends of a process; safe to share
// between threads.
class KnownEnds {
 public:
  KnownEnds();
  ~KnownEnds();

  struct End {
    std::int64_t next = 1;
    std::int64_t life = 0;
  };
  std::optional<End> next(const Stream& stream, Time now) const;
  void learn(const Stream& stream, std::int64_t next, Time now);

 private:
  class Streams;
  std::unique_ptr<Streams> streams_;
};

// Appends `events`, all adjacent. `invalid`: none, or more than 10,000; `too_large`: more than one
// item of the store can hold. One commit if `known` has the end, otherwise one scan and one commit,
// however long the log is. On a store with one write per commit a batch id costs one more get and
// one more commit. Gives up after kAttemptLife. `known` may be null, and must outlive the plan.
Plan<AppendOutcome> append(Stream stream, std::vector<LogEvent> events, AppendRequest request,
                           KnownEnds* known = nullptr);

// Appends what is new, in one commit, or where one write is all there is in one record. An event
// without an id is always new, unless the request has a batch id. `invalid` with `expect`, and with
// a strategy other than `conditional`; `too_large`: more ids than the store commits at once.
Plan<EventsOutcome> append_events(Stream stream, std::vector<LogEvent> events, EventIds ids,
                                  AppendRequest request, KnownEnds* known = nullptr);

// Costs the same from any index.
Plan<LogPage> read(Stream stream, LogRead request);

// Both ends, after expired events are trimmed.
Plan<LogEnds> ends(Stream stream);

// Makes all events below `before` unreadable at once, and frees some of their space; later calls
// free the rest. Does not affect events that are not appended yet.
Plan<LogEnds> trim(Stream stream, std::int64_t before);

// Closes the log: nothing is appended from then on. Empty if there is no such log. After `ttl`, if
// given, the log is removed by the next call that meets it. Not with `reserve`.
Plan<std::optional<LogEnds>> close(Stream stream, std::optional<Duration> ttl);

// Removes a closed log. Its events and batch ids are gone, and the name begins at 1 again. A call
// that ends early may be repeated. An appender that was stalled meanwhile meets the closed log.
Plan<LogRemoval> remove(Stream stream);

// The logs of strategy `conditional` whose names begin with `prefix`, in an order of the store's
// own. A page finds at most `limit`, and examines a bounded number of items.
Plan<LogList> list(std::string name_space, std::string prefix, std::string cursor,
                   std::size_t limit);

// Makes indexes void that were reserved before this call and are not written after `grace`; returns
// how many. An appender that is even later gets other indexes. Only with `reserve`.
inline constexpr Duration kVoidGrace = std::chrono::seconds(5);
Plan<std::int64_t> heal(Stream stream, Duration grace);

}  // namespace logs

// The streams of one namespace, all of one strategy. Safe to share between threads. A stream's name
// is 1 to 512 bytes of UTF-8 without control characters; anything else is `invalid`. One that was
// never appended to is empty. `within` bounds a call as in claims.h.
class Log {
 public:
  Log() = default;
  virtual ~Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // As the plans above. `grace` is in addition to `within`.
  virtual Result<AppendOutcome> append(std::string_view stream, std::vector<LogEvent> events,
                                       const AppendRequest& request = {},
                                       Duration within = kAttemptLife) = 0;
  virtual Result<logs::EventsOutcome> append_events(std::string_view stream,
                                                    std::vector<LogEvent> events,
                                                    logs::EventIds ids,
                                                    const AppendRequest& request = {},
                                                    Duration within = kAttemptLife) = 0;
  virtual Result<LogPage> read(std::string_view stream, const LogRead& request = {},
                               Duration within = kAttemptLife) = 0;
  virtual Result<LogEnds> ends(std::string_view stream, Duration within = kAttemptLife) = 0;
  virtual Result<LogEnds> trim(std::string_view stream, std::int64_t before,
                               Duration within = kAttemptLife) = 0;
  virtual Result<std::optional<LogEnds>> close(std::string_view stream,
                                               std::optional<Duration> ttl = std::nullopt,
                                               Duration within = kAttemptLife) = 0;
  virtual Result<LogRemoval> remove(std::string_view stream, Duration within = kAttemptLife) = 0;
  virtual Result<LogList> list(std::string_view prefix = "", std::string cursor = "",
                               std::size_t limit = 1'000, Duration within = kAttemptLife) = 0;
  virtual Result<std::int64_t> heal(std::string_view stream, Duration grace = logs::kVoidGrace,
                                    Duration within = kAttemptLife) = 0;
};

}  // namespace once
