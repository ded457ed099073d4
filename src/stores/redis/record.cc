#include "stores/redis/record.h"

#include <xxhash.h>

#include <algorithm>

namespace once::redis {
namespace {

constexpr char kNumber = 'I';
constexpr char kBytes = 'B';
constexpr std::size_t kVersionAt = 1;
constexpr std::size_t kExpiryAt = 9;
constexpr std::size_t kHeadBytes = 17;
constexpr std::size_t kValueAt = 25;

std::uint64_t checksum(std::string_view name, std::string_view digits, std::string_view head,
                       std::string_view value) {
  std::uint64_t sum = 0;
  for (const std::string_view part : {name, digits, head, value}) {
    sum = XXH3_64bits_withSeed(part.data(), part.size(), sum);
  }
  return sum;
}

}  // namespace

std::string encode_number(std::uint64_t number) {
  std::string bytes(8, '\0');
  for (std::size_t i = bytes.size(); i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number);
  return bytes;
}

std::uint64_t decode_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

std::string encode_record(std::string_view name, std::string_view digits, const Value& value,
                          Version version, Time expiry) {
  const auto* const bytes = std::get_if<Bytes>(&value);
  std::string record;
  record.reserve(kValueAt + (bytes == nullptr ? 0 : bytes->size()));
  record += bytes == nullptr ? kNumber : kBytes;
  record += encode_number(version.number);
  const std::int64_t ends = std::max(expiry.time_since_epoch().count(), kLeastExpiry);
  record += encode_number(static_cast<std::uint64_t>(ends));
  if (bytes == nullptr) {
    record += encode_number(static_cast<std::uint64_t>(std::get<std::int64_t>(value)));
    return record;
  }
  record += encode_number(checksum(name, digits, record, *bytes));
  record += *bytes;
  return record;
}

Result<Item> decode_record(std::string_view name, std::string_view digits,
                           std::string_view record) {
  const auto corrupt = [&] {
    std::string message = "a stored item fails its checks: ";
    return failure(ErrorCode::corrupt, message.append(name));
  };
  if (record.size() < kValueAt) return corrupt();
  Item item;
  item.version.number = decode_number(record.substr(kVersionAt));
  item.expiry = Time(Duration(static_cast<std::int64_t>(decode_number(record.substr(kExpiryAt)))));
  if (!item.version || item.expiry < Time(Duration(kLeastExpiry))) return corrupt();
  const std::uint64_t body = decode_number(record.substr(kHeadBytes));
  const std::string_view value = record.substr(kValueAt);
  if (record[0] == kNumber) {
    if (!value.empty()) return corrupt();
    item.value = static_cast<std::int64_t>(body);
    return item;
  }
  if (record[0] != kBytes || checksum(name, digits, record.substr(0, kHeadBytes), value) != body) {
    return corrupt();
  }
  item.value = Bytes(value);
  return item;
}

}  // namespace once::redis
