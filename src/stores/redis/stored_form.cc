#include "stores/redis/stored_form.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace once::redis {
namespace {

constexpr std::string_view kStart = "once:{";
constexpr std::string_view kStringEnd = ":0";
constexpr std::string_view kSetEnd = ":n";
constexpr std::string_view kEscaped = "{}%";
constexpr std::string_view kHex = "0123456789ABCDEF";

void append_escaped(std::string_view home, std::string& out) {
  for (const char c : home) {
    if (kEscaped.find(c) == std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

// Only what append_escaped() makes.
std::optional<std::string> unescaped(std::string_view text) {
  std::string home;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      home += text[i];
      continue;
    }
    const std::string_view code = text.substr(i + 1, 2);
    const char c = code == "7B" ? '{' : code == "7D" ? '}' : code == "25" ? '%' : '\0';
    if (c == '\0') return std::nullopt;
    home += c;
    i += 2;
  }
  return home;
}

std::string name(const Partition& partition, std::string_view end) {
  std::string name;
  name.reserve(kStart.size() + partition.home.size() + partition.part.size() + 3);
  name.append(kStart);
  append_escaped(partition.home, name);
  name += '}';
  return name.append(partition.part).append(end);
}

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

std::string string_name(const Partition& partition) { return name(partition, kStringEnd); }
std::string set_name(const Partition& partition) { return name(partition, kSetEnd); }

std::string name_of(const Key& key) {
  return key.sort == 0 ? string_name(key.partition) : set_name(key.partition);
}

std::string digits_of(std::int64_t sort) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits(kSortDigits, '0');
  auto rest = static_cast<std::uint64_t>(sort);
  for (std::size_t i = kSortDigits; i-- > 0; rest >>= 4) digits[i] = kDigits[rest & 15];
  return digits;
}

std::optional<std::int64_t> sort_in(std::string_view digits) {
  if (digits.size() != kSortDigits) return std::nullopt;
  std::int64_t sort = 0;
  const char* const end = std::to_address(digits.end());
  const auto [stopped, error] = std::from_chars(std::to_address(digits.begin()), end, sort, 16);
  if (error != std::errc() || stopped != end || sort < 0) return std::nullopt;
  return sort;
}

std::optional<Name> parse_name(std::string_view name) {
  if (!name.starts_with(kStart)) return std::nullopt;
  const bool is_set = name.ends_with(kSetEnd);
  if (!is_set && !name.ends_with(kStringEnd)) return std::nullopt;
  name.remove_prefix(kStart.size());
  const std::size_t brace = name.find('}');
  if (brace == 0 || brace == std::string_view::npos || brace + 1 + kSetEnd.size() > name.size()) {
    return std::nullopt;
  }
  std::optional<std::string> home = unescaped(name.substr(0, brace));
  if (!home) return std::nullopt;
  name.remove_prefix(brace + 1);
  name.remove_suffix(kSetEnd.size());
  return Name{{std::move(*home), std::string(name)}, is_set};
}

std::string pattern_of(std::string_view home_prefix) {
  std::string escaped;
  append_escaped(home_prefix, escaped);
  std::string pattern(kStart);
  for (const char c : escaped) {
    if (std::string_view("*?[]^-\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern += '*';
}

// CRC-16/XMODEM of the hash tag, of which a cluster takes 14 bits.
std::uint16_t slot_of(std::string_view home) {
  std::string tag;
  append_escaped(home, tag);
  constexpr unsigned kPolynomial = 0x1021;
  constexpr unsigned kSlots = 16'384;
  unsigned crc = 0;
  for (const char c : tag) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000) != 0 ? (crc << 1) ^ kPolynomial : crc << 1;
    }
    crc &= 0xffff;
  }
  return static_cast<std::uint16_t>(crc % kSlots);
}

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
