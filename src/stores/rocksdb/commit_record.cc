#include "stores/rocksdb/commit_record.h"

#include <xxhash.h>

namespace once {
namespace {

constexpr unsigned char kSegmentFormat = 1;
constexpr unsigned char kRecordFormat = 1;
constexpr std::size_t kSegmentFields = 24;  // Then the checksum.
// Where the fields of a record's header are.
constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kFirstAt = 8;
constexpr std::size_t kSequenceAt = 16;
constexpr std::size_t kDurableAt = 24;
constexpr std::size_t kBatchesSumAt = 32;
constexpr std::size_t kHeaderSumAt = 40;

template <class Number>
void put(Number number, std::string& out, std::size_t at) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    out[at + i] = static_cast<char>(number >> (8 * (sizeof(Number) - 1 - i)));
  }
}

template <class Number>
Number get(std::string_view bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number << 8U) | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

std::size_t padded(std::size_t bytes) {
  return (bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
}

std::uint64_t checksum_of(std::string_view bytes, std::uint64_t nonce) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), nonce);
}

}  // namespace

std::string encode_segment_header(const SegmentHeader& header) {
  std::string out(kSegmentFields + 8, '\0');
  out[0] = static_cast<char>(kSegmentFormat);
  put(header.number, out, 8);
  put(header.nonce, out, 16);
  put(std::uint64_t{XXH3_64bits(out.data(), kSegmentFields)}, out, kSegmentFields);
  return out;
}

Result<SegmentHeader> decode_segment_header(std::string_view segment) {
  if (segment.size() < kSegmentHeaderBytes) {
    return failure(ErrorCode::corrupt, "it ends within its header");
  }
  if (XXH3_64bits(segment.data(), kSegmentFields) != get<std::uint64_t>(segment, kSegmentFields)) {
    return failure(ErrorCode::corrupt, "its header fails its checksum");
  }
  if (static_cast<unsigned char>(segment[0]) != kSegmentFormat) {
    return failure(ErrorCode::unsupported, "it was written by another version of Once");
  }
  return SegmentHeader{.number = get<std::uint64_t>(segment, 8),
                       .nonce = get<std::uint64_t>(segment, 16)};
}

void begin_record(std::string& record) { record.assign(kRecordHeaderBytes, '\0'); }

void add_batch(std::string_view batch, std::string& record) {
  const std::size_t at = record.size();
  record.append(4, '\0');
  put(static_cast<std::uint32_t>(batch.size()), record, at);
  record.append(batch);
}

std::size_t sealed_bytes(const std::string& record) { return padded(record.size()); }

void seal_record(const RecordHeader& header, std::uint64_t nonce, std::string& record) {
  record[0] = static_cast<char>(kRecordFormat);
  put(static_cast<std::uint32_t>(record.size() - kRecordHeaderBytes), record, kLengthAt);
  put(header.first, record, kFirstAt);
  put(header.sequence, record, kSequenceAt);
  put(header.durable, record, kDurableAt);
  const std::string_view all = record;
  put(checksum_of(all.substr(kRecordHeaderBytes), nonce), record, kBatchesSumAt);
  put(checksum_of(all.substr(0, kHeaderSumAt), nonce), record, kHeaderSumAt);
  record.resize(padded(record.size()));
}

std::optional<RecordHeader> record_header_at(std::string_view segment, std::size_t at,
                                             std::uint64_t nonce) {
  if (at > segment.size() || segment.size() - at < kRecordHeaderBytes) return std::nullopt;
  const std::string_view bytes = segment.substr(at, kRecordHeaderBytes);
  // Checked first: it is cheap, and a search comes here for every place.
  if (static_cast<unsigned char>(bytes[0]) != kRecordFormat) return std::nullopt;
  const auto sum = get<std::uint64_t>(bytes, kHeaderSumAt);
  if (sum != checksum_of(bytes.substr(0, kHeaderSumAt), nonce)) return std::nullopt;
  return RecordHeader{.first = get<std::uint64_t>(bytes, kFirstAt),
                      .sequence = get<std::uint64_t>(bytes, kSequenceAt),
                      .durable = get<std::uint64_t>(bytes, kDurableAt)};
}

std::optional<Record> record_at(std::string_view segment, std::size_t at, std::uint64_t nonce) {
  const std::optional<RecordHeader> header = record_header_at(segment, at, nonce);
  if (!header) return std::nullopt;
  const auto length = get<std::uint32_t>(segment, at + kLengthAt);
  if (length > segment.size() - at - kRecordHeaderBytes) return std::nullopt;
  const std::string_view batches = segment.substr(at + kRecordHeaderBytes, length);
  if (get<std::uint64_t>(segment, at + kBatchesSumAt) != checksum_of(batches, nonce)) {
    return std::nullopt;
  }
  return Record{
      .header = *header, .batches = batches, .bytes = padded(kRecordHeaderBytes + length)};
}

Result<void> for_each_batch(std::string_view batches,
                            const std::function<Result<void>(std::string_view)>& use) {
  while (!batches.empty()) {
    if (batches.size() < 4) return failure(ErrorCode::corrupt, "a record's batches do not add up");
    const auto length = get<std::uint32_t>(batches, 0);
    batches.remove_prefix(4);
    if (length > batches.size()) {
      return failure(ErrorCode::corrupt, "a record's batches do not add up");
    }
    if (Result<void> used = use(batches.substr(0, length)); !used) return used;
    batches.remove_prefix(length);
  }
  return {};
}

}  // namespace once
