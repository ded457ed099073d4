#include "primitives/log_record.h"

#include "primitives/record.h"

namespace once::logs {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::size_t kHashBytes = 16;
constexpr auto kLastState = static_cast<std::uint64_t>(LogRecord::State::blank);

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
  const auto most = record.state == LogRecord::State::blank ? 1 : kMaxBatchEvents;
  return record.count >= 1 && record.count <= static_cast<std::int64_t>(most);
}

}  // namespace

Bytes encode(const LogRecord& record) {
  RecordWriter out(RecordKind::log_batch, kFormat);
  out.number(static_cast<std::uint64_t>(record.state));
  out.number(static_cast<std::uint64_t>(record.count));
  out.bytes(record.batch);
  out.time(record.appended);
  out.time(record.expires);
  write_events(out, record.events);
  return out.finish();
}

Result<LogRecord> decode_log(const Value& value) {
  const Result<const Bytes*> bytes = bytes_of(value);
  if (!bytes) return std::unexpected(bytes.error());
  Result<RecordReader> in = RecordReader::open(**bytes, RecordKind::log_batch, kFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  LogRecord record;
  record.state = static_cast<LogRecord::State>(in->number(kLastState));
  record.count = static_cast<std::int64_t>(in->number());
  record.batch = in->bytes();
  record.appended = in->time();
  record.expires = in->time();
  if (sensible(record) && record.state == LogRecord::State::batch) {
    record.events.reserve(static_cast<std::size_t>(record.count));
    for (std::int64_t i = 0; i < record.count; ++i) record.events.push_back(read_event(*in));
  }
  if (!in->sound() || !sensible(record)) {
    return failure(ErrorCode::corrupt, "a log's record does not parse");
  }
  return record;
}

Bytes encode(const BatchId& id) {
  RecordWriter out(RecordKind::log_batch_id, kFormat);
  out.number(static_cast<std::uint64_t>(id.at));
  out.number(static_cast<std::uint64_t>(id.count));
  out.bytes(id.hash);
  return out.finish();
}

Result<BatchId> decode_batch_id(const Value& value) {
  const Result<const Bytes*> bytes = bytes_of(value);
  if (!bytes) return std::unexpected(bytes.error());
  Result<RecordReader> in = RecordReader::open(**bytes, RecordKind::log_batch_id, kFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  BatchId id;
  id.at = static_cast<std::int64_t>(in->number());
  id.count = static_cast<std::int64_t>(in->number());
  id.hash = in->bytes();
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
