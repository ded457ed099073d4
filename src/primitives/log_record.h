// What a log stores: records of batches, each under its first index, and marks of batch ids.
#pragma once

#include <string>
#include <vector>

#include "once/log.h"

namespace once::logs {

struct LogRecord {
  enum class State : std::uint8_t {
    batch = 0,
    trimmed = 1,  // A batch whose events are gone. It still takes its indexes (H1).
    blank = 2,    // A void: one index that nobody will write.
  };

  State state = State::batch;
  std::int64_t count = 0;
  std::string batch;  // The id, or empty.
  Time appended;
  Time expires = kNever;  // Of the events. The item itself never expires.
  std::vector<LogEvent> events;

  friend bool operator==(const LogRecord&, const LogRecord&) = default;
};

Bytes encode(const LogRecord& record);
Result<LogRecord> decode_log(const Value& value);

// Where a batch id's events stand, or are about to.
struct BatchId {
  std::int64_t at = 0;
  std::int64_t count = 0;
  Bytes hash;  // Of the events, as the caller gave them.

  friend bool operator==(const BatchId&, const BatchId&) = default;
};

Bytes encode(const BatchId& id);
Result<BatchId> decode_batch_id(const Value& value);

// 16 bytes; equal events have equal hashes, others practically never.
Bytes hash_of(const std::vector<LogEvent>& events);

}  // namespace once::logs
