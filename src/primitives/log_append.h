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
};

struct PendingAppend {
  Stream stream;
  std::string batch;  // The id, or empty.
  std::optional<std::int64_t> expect;
  std::int64_t count = 0;
  Bytes value;  // The record to be stored.
  Bytes hash;   // Of the events, if there is an id.
  Time until;   // The end of the attempt.
  Time id_expires;

  bool is_unexpected(std::int64_t first) const { return expect && *expect != first; }
  Appended appended_at(std::int64_t first, bool replayed) const;

  Write batch_at(std::int64_t first) const;
  Write id_at(std::int64_t first, Guard guard) const;

  // The whole append as one commit: the batch, then its id and the head if there are any. If it is
  // lost, it must be tried at the next position.
  std::vector<Write> writes_at(const AppendPosition& position) const;
  std::size_t write_count() const;
};

// Checks the request: `invalid` and `unsupported` ones end here.
Result<PendingAppend> prepare_append(Stream stream, std::vector<LogEvent> events,
                                     const AppendRequest& request, const Limits& limits, Time now);

// The position of the stream's next batch; with `reserve`, a range of its own. `append` must
// outlive the plan.
Plan<AppendPosition> next_position(const PendingAppend& append);

}  // namespace once::logs
