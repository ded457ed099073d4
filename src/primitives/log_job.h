// One append under way: what it is to write, and where.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "primitives/log_stream.h"

namespace once::logs {

// Where a batch is to stand, and with `transaction` what the head was.
struct Place {
  std::int64_t first = 1;
  Version head;
};

struct Job {
  Stream stream;
  std::string batch;  // The id, or empty.
  std::optional<std::int64_t> expect;
  std::int64_t count = 0;
  Bytes value;     // The record to be stored.
  Bytes hash;      // Of the events, if there is an id.
  Time until;      // The end of the attempt.
  Time forgotten;  // When the id expires.

  bool unexpected_at(std::int64_t first) const { return expect && *expect != first; }
  Appended appended_at(std::int64_t first, bool replayed) const;

  Write batch_at(std::int64_t first) const;
  Write id_at(std::int64_t first, Guard guard) const;

  // The whole append as one commit: the batch, then its id, then the head, as far as there are any.
  // Lost, it is to be tried at the next place.
  std::vector<Write> writes_at(const Place& place) const;
  std::size_t write_count() const;
};

// `invalid` and `unsupported` requests end here.
Result<Job> job_of(Stream stream, std::vector<LogEvent> events, const AppendRequest& request,
                   const Limits& limits, Time now);

// Where the next batch of the stream belongs; with `reserve`, a range of its own. `job` must stay
// alive until it is answered.
Plan<Place> next_place(const Job& job);

}  // namespace once::logs
