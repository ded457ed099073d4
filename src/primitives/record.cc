#include "primitives/record.h"

#include <xxhash.h>

#include <algorithm>
#include <array>

namespace once {
namespace {

constexpr std::size_t kHead = 2;
constexpr std::size_t kChecksum = 4;

// The last `length` bytes of `value`.
void append_big_endian(Bytes& out, std::uint64_t value, std::size_t length) {
  std::array<char, sizeof value> bytes;
  for (std::size_t i = 0; i < length; ++i) {
    bytes[i] = static_cast<char>(value >> (8 * (length - 1 - i)));
  }
  out.append(bytes.data(), length);
}

std::string checksum_of(std::string_view bytes) {
  std::string sum;
  append_big_endian(sum, XXH3_64bits(bytes.data(), bytes.size()), kChecksum);
  return sum;
}

}  // namespace

RecordWriter::RecordWriter(RecordKind kind, std::uint8_t format, std::size_t room) {
  out_.reserve(room);
  out_ += static_cast<char>(kind);
  out_ += static_cast<char>(format);
}

void RecordWriter::number(std::uint64_t value) {
  std::array<char, 10> bytes;
  std::size_t length = 0;
  for (; value >= 0x80; value >>= 7) bytes[length++] = static_cast<char>(value | 0x80);
  bytes[length++] = static_cast<char>(value);
  out_.append(bytes.data(), length);
}

void RecordWriter::time(Time value) {
  append_big_endian(out_, static_cast<std::uint64_t>(value.time_since_epoch().count()), 8);
}

void RecordWriter::bytes(std::string_view value) {
  number(value.size());
  out_ += value;
}

Bytes RecordWriter::finish() {
  out_ += checksum_of(out_);
  return std::move(out_);
}

Result<RecordReader> RecordReader::open(std::string_view record, RecordKind kind,
                                        std::uint8_t newest) {
  if (record.size() < kHead + kChecksum) return failure(ErrorCode::corrupt, "record is too short");
  const std::string_view content = record.substr(0, record.size() - kChecksum);
  if (record.substr(content.size()) != checksum_of(content)) {
    return failure(ErrorCode::corrupt, "record fails its checksum");
  }
  if (content[0] != static_cast<char>(kind)) {
    return failure(ErrorCode::corrupt, "record is of another kind");
  }
  const auto format = static_cast<std::uint8_t>(content[1]);
  if (format == 0) return failure(ErrorCode::corrupt, "record has no format");
  if (format > newest) {
    return failure(ErrorCode::unsupported, "record was written by a newer version of Once");
  }
  return RecordReader(content.substr(kHead), format);
}

std::uint64_t RecordReader::number(std::uint64_t highest) {
  constexpr std::size_t kMost = 10;
  const std::size_t most = std::min(left_.size(), kMost);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < most; ++i) {
    const auto byte = static_cast<std::uint8_t>(left_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    left_.remove_prefix(i + 1);
    const bool shortest = byte != 0 || i == 0;
    const bool fits = byte == 1 || i + 1 < kMost;
    if (shortest && fits && value <= highest) return value;
    sound_ = false;
    return 0;
  }
  left_.remove_prefix(most);
  sound_ = false;
  return 0;
}

Time RecordReader::time() {
  if (left_.size() < 8) {
    sound_ = false;
    return Time{};
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value = value << 8 | static_cast<std::uint8_t>(left_[i]);
  left_.remove_prefix(8);
  return Time(Duration(static_cast<std::int64_t>(value)));
}

std::string_view RecordReader::view() {
  const std::uint64_t length = number();
  if (length > left_.size()) {
    sound_ = false;
    return {};
  }
  const std::string_view value = left_.substr(0, length);
  left_.remove_prefix(length);
  return value;
}

Bytes hash128(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
}

}  // namespace once
