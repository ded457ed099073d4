#include "primitives/record.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace once {
namespace {

constexpr std::size_t kHead = 2;
constexpr std::size_t kChecksum = 4;

constexpr std::size_t kMostOfNumber = 10;
constexpr std::size_t kLeastRoom = 64;

// The most significant byte first.
template <class Number>
Number big_endian(Number value) {
  return std::endian::native == std::endian::big ? value : std::byteswap(value);
}
template <class Number>
void put_big_endian(char* at, Number value) {
  value = big_endian(value);
  std::memcpy(at, &value, sizeof value);
}
template <class Number>
Number get_big_endian(std::string_view bytes) {
  Number value = 0;
  bytes.copy(reinterpret_cast<char*>(&value), sizeof value);
  return big_endian(value);
}

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace

// Inline, as are those below that the others use: a claim has some thirty fields to write.
inline char* RecordWriter::grown_by(std::size_t bytes) {
  if (out_.size() - used_ < bytes) [[unlikely]] {
    out_.resize(std::max(2 * out_.size(), used_ + bytes));
  }
  char* const at = out_.data() + used_;
  used_ += bytes;
  return at;
}

inline void RecordWriter::put_number(std::uint64_t value) {
  if (value < 0x80) {
    *grown_by(1) = static_cast<char>(value);
    return;
  }
  char* const start = grown_by(kMostOfNumber);
  char* at = start;
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  used_ -= kMostOfNumber - static_cast<std::size_t>(at - start);
}

RecordWriter::RecordWriter(RecordKind kind, std::uint8_t format, std::size_t room)
    : out_(std::max(room, kLeastRoom), '\0') {
  char* const at = grown_by(kHead);
  at[0] = static_cast<char>(kind);
  at[1] = static_cast<char>(format);
}

void RecordWriter::number(std::uint64_t value) { put_number(value); }

void RecordWriter::time(Time value) {
  put_big_endian(grown_by(8), static_cast<std::uint64_t>(value.time_since_epoch().count()));
}

void RecordWriter::bytes(std::string_view value) {
  put_number(value.size());
  if (!value.empty()) std::memcpy(grown_by(value.size()), value.data(), value.size());
}

void RecordWriter::fields(std::string_view written) {
  if (!written.empty()) std::memcpy(grown_by(written.size()), written.data(), written.size());
}

Bytes RecordWriter::fields_only() {
  out_.resize(used_);
  return std::move(out_.erase(0, kHead));
}

Bytes RecordWriter::finish() {
  const std::uint32_t checksum = checksum_of({out_.data(), used_});
  put_big_endian(grown_by(kChecksum), checksum);
  out_.resize(used_);
  return std::move(out_);
}

void seal_again(Bytes& record) {
  const std::size_t content = record.size() - kChecksum;
  put_big_endian(record.data() + content, checksum_of({record.data(), content}));
}

Result<RecordReader> RecordReader::open(std::string_view record, RecordKind kind,
                                        std::uint8_t newest) {
  if (record.size() < kHead + kChecksum) return failure(ErrorCode::corrupt, "record is too short");
  const std::string_view content = record.substr(0, record.size() - kChecksum);
  if (get_big_endian<std::uint32_t>(record.substr(content.size())) != checksum_of(content)) {
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
  const auto first = static_cast<std::uint8_t>(left_.empty() ? '\xff' : left_[0]);
  if (first < 0x80 && first <= highest) {  // As most are.
    left_.remove_prefix(1);
    return first;
  }
  const std::size_t most = std::min(left_.size(), kMostOfNumber);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < most; ++i) {
    const auto byte = static_cast<std::uint8_t>(left_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    left_.remove_prefix(i + 1);
    const bool shortest = byte != 0 || i == 0;
    const bool fits = byte == 1 || i + 1 < kMostOfNumber;
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
  const auto value = get_big_endian<std::uint64_t>(left_);
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
