// The bytes of the store's log of commits. docs/formats.md draws them.
//
// A segment is a file: a header, and records from kSegmentHeaderBytes on. Each segment has a nonce
// of its own that seeds the checksums of its records. So neither the earlier contents of a reused
// file nor a caller's value is ever taken for a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "once/error.h"

namespace once {

inline constexpr std::size_t kSegmentHeaderBytes = 4'096;
inline constexpr std::size_t kRecordHeaderBytes = 48;
inline constexpr std::size_t kRecordAlignment = 8;

struct SegmentHeader {
  std::uint64_t number = 0;
  std::uint64_t nonce = 0;
};

// Only the bytes that are not zero.
std::string encode_segment_header(const SegmentHeader& header);

// `corrupt`, or `unsupported` for a newer format.
Result<SegmentHeader> decode_segment_header(std::string_view segment);

struct RecordHeader {
  std::uint64_t first = 0;     // The sequence that the segment begins with.
  std::uint64_t sequence = 0;  // One more than the record before, across segments.
  std::uint64_t durable = 0;   // Up to this sequence all was synced before this record was written.
};

struct Record {
  RecordHeader header;
  std::string_view batches;
  std::size_t bytes = 0;  // In the segment, with header and padding.
};

// A record is built in place: begun, filled with batches, and sealed.
void begin_record(std::string& record);
void add_batch(std::string_view batch, std::string& record);
void seal_record(const RecordHeader& header, std::uint64_t nonce, std::string& record);

// The size of the sealed record in the segment.
std::size_t sealed_bytes(const std::string& record);

// Empty unless a record's header is there; the rest may be torn.
std::optional<RecordHeader> record_header_at(std::string_view segment, std::size_t at,
                                             std::uint64_t nonce);

// Empty unless a whole record is there.
std::optional<Record> record_at(std::string_view segment, std::size_t at, std::uint64_t nonce);

// `corrupt` when the batches do not add up.
Result<void> for_each_batch(std::string_view batches,
                            const std::function<Result<void>(std::string_view)>& use);

}  // namespace once
