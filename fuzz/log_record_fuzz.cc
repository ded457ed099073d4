// Batches of a log, and batch ids.
#include "fuzz/record_laws.h"
#include "primitives/log_record.h"

namespace once::fuzz {
namespace {

using logs::BatchId;
using logs::LogRecord;

std::vector<LogEvent> events_of(FuzzedDataProvider& input) {
  std::vector<LogEvent> events;
  do {
    LogEvent event;
    if (input.ConsumeBool()) event.time = time_of(input);
    event.data = input.ConsumeRandomLengthString();
    events.push_back(std::move(event));
  } while (input.remaining_bytes() > 0 && events.size() < kMaxBatchEvents);
  return events;
}

LogRecord record_of(FuzzedDataProvider& input) {
  LogRecord record;
  record.state = static_cast<LogRecord::State>(input.ConsumeIntegralInRange(0, 2));
  const std::string batch = input.ConsumeRandomLengthString();
  const bool combined = input.ConsumeBool();
  record.appended = time_of(input);
  record.expires = time_of(input);
  record.count = record.state == LogRecord::State::blank
                     ? 1
                     : input.ConsumeIntegralInRange<std::int64_t>(1, kMaxBatchEvents);
  if (record.state == LogRecord::State::batch) {
    record.events = events_of(input);
    record.count = static_cast<std::int64_t>(record.events.size());
  }
  record.parts = {{batch, record.count}};
  if (combined && record.count > 1) record.parts = {{"", 1}, {batch, record.count - 1}};
  return record;
}

Bytes encode_record(const LogRecord& record) { return logs::encode(record); }
Bytes encode_id(const BatchId& id) { return logs::encode(id); }

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once;
  using namespace once::fuzz;
  const Bytes bytes(reinterpret_cast<const char*>(data), size);
  check_decoding_of(RecordKind::log_batch, bytes, logs::decode_log, encode_record);
  check_decoding_of(RecordKind::log_batch_id, bytes, logs::decode_batch_id, encode_id);

  FuzzedDataProvider input(data, size);
  const LogRecord record = record_of(input);
  check_encoding(record, logs::decode_log, encode_record);
  const BatchId id{record.count, record.count, logs::hash_of(record.events),
                   record.parts.size() > 1 ? record.offset_of(record.parts[1].batch)
                                           : std::optional<std::int64_t>(0)};
  check_encoding(id, logs::decode_batch_id, encode_id);
  return 0;
}
