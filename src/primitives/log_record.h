// The items of a log: records of batches, each under its first index, and batch ids.
#pragma once

#include <string>
#include <vector>

#include "once/log.h"

namespace once::logs {

struct LogRecord {
  enum class State : std::uint8_t {
    batch = 0,
    trimmed = 1,  // A batch without its events. It still takes its indexes: docs/hazards.md#h1.
    blank = 2,    // A void: one index that will never be written.
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

// Where the events of a batch id are, or will be.
struct BatchId {
  std::int64_t at = 0;
  std::int64_t count = 0;
  Bytes hash;  // Of the events, as the caller gave them.

  friend bool operator==(const BatchId&, const BatchId&) = default;
};

Bytes encode(const BatchId& id);
Result<BatchId> decode_batch_id(const Value& value);

// 16 bytes. Different events practically never have equal hashes.
Bytes hash_of(const std::vector<LogEvent>& events);

}  // namespace once::logs
