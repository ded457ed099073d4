// The items of a log: records of batches, each under its first index, and batch ids.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/log.h"

namespace once::logs {

// The batch of one caller, or as much of it as one record holds.
struct BatchPart {
  std::string batch;  // The id, or empty. A batch in several records has it in the first one.
  std::int64_t count = 0;

  friend bool operator==(const BatchPart&, const BatchPart&) = default;
};

struct LogRecord {
  enum class State : std::uint8_t {
    batch = 0,
    trimmed = 1,  // Batches without their events. They keep their indexes: docs/hazards.md#h1.
    blank = 2,    // A void: one index that will never be written.
    closed = 3,   // The end of a closed log. It takes no index, and its key keeps others out.
  };

  State state = State::batch;
  std::int64_t count = 0;  // Of all parts together.
  std::vector<BatchPart> parts;
  Time appended;
  Time expires = kNever;  // Of the events; if closed, of the whole log. No item expires by it.
  std::vector<LogEvent> events;

  // Where the batch with this id begins, counted from the record's first index.
  std::optional<std::int64_t> offset_of(std::string_view batch) const;

  friend bool operator==(const LogRecord&, const LogRecord&) = default;
};

// A record of one batch.
LogRecord record_of_batch(std::string id, std::vector<LogEvent> events);

// Events as a record holds them, so that records can be put together of several callers' events.
Bytes encode_events(const std::vector<LogEvent>& events);

Bytes encode(const LogRecord& record);

// The same with the events of encode_events(); those in `record` are left out.
Bytes encode(const LogRecord& record, const std::vector<std::string_view>& events);

Result<LogRecord> decode_log(const Value& value);

// Where the events of a batch id are, or will be.
struct BatchId {
  std::int64_t at = 0;  // The first index of the record.
  std::int64_t count = 0;
  Bytes hash;  // Of the events, as the caller gave them.

  // Where the batch begins in the record. Empty: only the record itself tells.
  std::optional<std::int64_t> offset = 0;

  friend bool operator==(const BatchId&, const BatchId&) = default;
};

Bytes encode(const BatchId& id);
Result<BatchId> decode_batch_id(const Value& value);

// 16 bytes. Different events practically never have equal hashes.
Bytes hash_of(const std::vector<LogEvent>& events);

}  // namespace once::logs
