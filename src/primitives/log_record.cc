#include "primitives/log_record.h"

#include "primitives/record.h"

namespace once::logs {
namespace {

constexpr std::uint8_t kFormat = 1;  // A record of one batch; an id whose batch begins its record.
constexpr std::uint8_t kCombined = 2;  // A record of several; any other id.
constexpr std::size_t kHashBytes = 16;
constexpr auto kLastState = static_cast<std::uint64_t>(LogRecord::State::closed);

void write_events(RecordWriter& out, const std::vector<LogEvent>& events) {
  for (const LogEvent& event : events) {
    out.number(event.time ? 1 : 0);
    if (event.time) out.time(*event.time);
    out.bytes(event.data);
  }
}

LogEvent read_event(RecordReader& in) {
  LogEvent event;
  if (in.number(1) != 0) event.time = in.time();
  event.data = in.bytes();
  return event;
}

Result<const Bytes*> bytes_of(const Value& value) {
  const Bytes* bytes = std::get_if<Bytes>(&value);
  if (bytes == nullptr) return failure(ErrorCode::corrupt, "a log's key holds a number");
  return bytes;
}

bool sensible(const LogRecord& record) {
  if (record.state == LogRecord::State::closed) {
    return record.count == 0 && record.parts.size() == 1 && record.parts[0].batch.empty();
  }
  const auto most =
      static_cast<std::int64_t>(record.state == LogRecord::State::blank ? 1 : kMaxBatchEvents);
  if (record.count < 1 || record.count > most || record.parts.empty()) return false;
  std::int64_t count = 0;
  for (const BatchPart& part : record.parts) {
    if (part.count < 1 || part.count > record.count - count) return false;
    count += part.count;
  }
  return count == record.count;
}

void write_head(RecordWriter& out, const LogRecord& record) {
  out.number(static_cast<std::uint64_t>(record.state));
  out.number(static_cast<std::uint64_t>(record.count));
  if (record.parts.size() == 1) {
    out.bytes(record.parts.front().batch);
  } else {
    out.number(record.parts.size());
    for (const BatchPart& part : record.parts) {
      out.bytes(part.batch);
      out.number(static_cast<std::uint64_t>(part.count));
    }
  }
  out.time(record.appended);
  out.time(record.expires);
}

// False if there cannot be so many.
bool read_parts(RecordReader& in, LogRecord& record) {
  if (in.format() == kFormat) {
    record.parts = {{in.bytes(), record.count}};
    return true;
  }
  const std::uint64_t count = in.number(kMaxBatchEvents);
  for (std::uint64_t i = 0; i < count; ++i) {
    BatchPart part{.batch = in.bytes()};
    part.count = static_cast<std::int64_t>(in.number());
    record.parts.push_back(std::move(part));
  }
  return count > 1;
}

std::uint8_t format_of(const LogRecord& record) {
  return record.parts.size() == 1 ? kFormat : kCombined;
}

}  // namespace

std::optional<std::int64_t> LogRecord::offset_of(std::string_view batch) const {
  std::int64_t offset = 0;
  for (const BatchPart& part : parts) {
    if (part.batch == batch) return offset;
    offset += part.count;
  }
  return std::nullopt;
}

LogRecord record_of_batch(std::string id, std::vector<LogEvent> events) {
  const auto count = static_cast<std::int64_t>(events.size());
  return {.count = count, .parts = {{std::move(id), count}}, .events = std::move(events)};
}

Bytes encode_events(const std::vector<LogEvent>& events) {
  RecordWriter out(RecordKind::log_batch, kFormat);
  write_events(out, events);
  return out.fields_only();
}

Bytes encode(const LogRecord& record) {
  RecordWriter out(RecordKind::log_batch, format_of(record));
  write_head(out, record);
  write_events(out, record.events);
  return out.finish();
}

Bytes encode(const LogRecord& record, const std::vector<std::string_view>& events) {
  constexpr std::size_t kHeadRoom = 64;
  std::size_t room = kHeadRoom;
  for (const BatchPart& part : record.parts) room += part.batch.size() + 8;
  for (const std::string_view some : events) room += some.size();
  RecordWriter out(RecordKind::log_batch, format_of(record), room);
  write_head(out, record);
  for (const std::string_view some : events) out.fields(some);
  return out.finish();
}

Result<LogRecord> decode_log(const Value& value) {
  const Result<const Bytes*> bytes = bytes_of(value);
  if (!bytes) return std::unexpected(bytes.error());
  Result<RecordReader> in = RecordReader::open(**bytes, RecordKind::log_batch, kCombined);
  if (!in) return std::unexpected(std::move(in.error()));
  LogRecord record;
  record.state = static_cast<LogRecord::State>(in->number(kLastState));
  record.count = static_cast<std::int64_t>(in->number());
  bool sound = read_parts(*in, record) && sensible(record);
  record.appended = in->time();
  record.expires = in->time();
  if (sound && record.state == LogRecord::State::batch) {
    record.events.reserve(static_cast<std::size_t>(record.count));
    for (std::int64_t i = 0; i < record.count; ++i) record.events.push_back(read_event(*in));
  }
  sound = sound && in->sound();
  if (!sound) return failure(ErrorCode::corrupt, "a log's record does not parse");
  return record;
}

Bytes encode(const BatchId& id) {
  RecordWriter out(RecordKind::log_batch_id, id.offset == 0 ? kFormat : kCombined);
  out.number(static_cast<std::uint64_t>(id.at));
  out.number(static_cast<std::uint64_t>(id.count));
  out.bytes(id.hash);
  // 0: only the record tells.
  if (id.offset != 0) out.number(static_cast<std::uint64_t>(id.offset.value_or(0)));
  return out.finish();
}

Result<BatchId> decode_batch_id(const Value& value) {
  const Result<const Bytes*> bytes = bytes_of(value);
  if (!bytes) return std::unexpected(bytes.error());
  Result<RecordReader> in = RecordReader::open(**bytes, RecordKind::log_batch_id, kCombined);
  if (!in) return std::unexpected(std::move(in.error()));
  BatchId id;
  id.at = static_cast<std::int64_t>(in->number());
  id.count = static_cast<std::int64_t>(in->number());
  id.hash = in->bytes();
  if (in->format() == kCombined) {
    const auto offset = static_cast<std::int64_t>(in->number(kMaxBatchEvents));
    id.offset = offset == 0 ? std::nullopt : std::optional(offset);
  }
  if (!in->sound() || id.at < 1 || id.count < 1 || id.hash.size() != kHashBytes) {
    return failure(ErrorCode::corrupt, "a batch id's record does not parse");
  }
  return id;
}

Bytes hash_of(const std::vector<LogEvent>& events) {
  RecordWriter content(RecordKind::log_batch, kFormat);
  write_events(content, events);
  return hash128(content.finish());
}

}  // namespace once::logs
