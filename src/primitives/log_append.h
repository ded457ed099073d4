// An append being made: what it writes, and where.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "primitives/log_stream.h"

namespace once::logs {

// The index for a batch and, with `transaction`, the head's version to be replaced.
struct AppendPosition {
  std::int64_t first = 1;
  Version head;
  std::int64_t life = 0;  // Of the stream.
  bool closed = false;    // Nothing can be appended.
};

struct PendingAppend {
  // As many events of the batch as one record can hold: usually all.
  struct Chunk {
    std::int64_t count = 0;
    Bytes events;  // Of encode_events().
  };

  Stream stream;
  std::string batch;  // The id, or empty.
  std::optional<std::int64_t> expect;
  std::int64_t count = 0;
  std::vector<Chunk> chunks;
  Bytes hash;  // Of the events, if there is an id.
  Time started;
  Time expires;  // The events.
  Time until;    // The end of the attempt.
  Time id_expires;
  bool by_one_write = false;  // The store commits no more than one.

  bool is_unexpected(std::int64_t first) const { return expect && *expect != first; }
  std::size_t bytes() const;
  Appended appended_at(std::int64_t first, bool replayed) const;

  // The batch as records of its own, and the only one of a batch that fits into one.
  std::vector<Write> records_at(std::int64_t first) const;
  Write batch_at(std::int64_t first) const;

  // The item of its id. `offset`: where it begins in the record at `at`.
  Write id_at(std::int64_t at, std::optional<std::int64_t> offset, Guard guard) const;

  // The whole append as one commit: the records, then its id and the head if there are any. If it
  // is lost, it must be tried at the next position.
  std::vector<Write> writes_at(const AppendPosition& position) const;
  std::size_t write_count() const;
};

// Checks the request: `invalid` and `unsupported` ones end here.
Result<PendingAppend> prepare_append(Stream stream, std::vector<LogEvent> events,
                                     const AppendRequest& request, const Limits& limits, Time now);

// Appends a batch under its id by one write each, where its id says if it has been written
// (docs/hazards.md#h5).
Plan<AppendOutcome> append_by_id(PendingAppend append);

// One in 64 removes what has expired from the stream, where appends have a ttl.
Plan<std::monostate> trim_sometimes(Stream stream);

// The position of the stream's next batch; with `reserve`, a range of its own. `append` must
// outlive the plan.
Plan<AppendPosition> next_position(const PendingAppend& append);

// The same, by `known` if it may be believed. Whether it was looked up comes second.
struct FirstPosition {
  AppendPosition position;
  bool looked_up = false;  // Otherwise the end may have moved on.
};
Plan<FirstPosition> first_position(const PendingAppend& append, const KnownEnds* known);

}  // namespace once::logs
