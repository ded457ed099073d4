#include "kernel/format.h"

#include <xxhash.h>

#include <concepts>

namespace once::format {
namespace {

constexpr char kItemFormat = 1;
constexpr char kNumberKind = 0;
constexpr char kBytesKind = 1;
constexpr std::size_t kHeadBytes = 18;  // Format, kind, version, expiry.
constexpr std::size_t kChecksumBytes = 4;
constexpr std::size_t kSortBytes = 8;
constexpr std::string_view kFormatMagic = "once";

constexpr char kEscape = 0x00;
constexpr char kEscapedZero = static_cast<char>(0xff);
constexpr char kEnd = 0x01;

template <std::unsigned_integral T>
void append_number(T number, std::string& out) {
  char bytes[sizeof(T)];
  for (std::size_t i = sizeof(T); i-- > 0; number = static_cast<T>(number >> 7 >> 1)) {
    bytes[i] = static_cast<char>(number);
  }
  out.append(bytes, sizeof(T));
}

template <std::unsigned_integral T>
T number_at(std::string_view bytes, std::size_t at) {
  T number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    number = static_cast<T>(number << 7 << 1) | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

void append_escaped(std::string_view text, std::string& out) {
  for (std::size_t zero = text.find(kEscape); zero != text.npos; zero = text.find(kEscape)) {
    out.append(text.substr(0, zero + 1));
    out += kEscapedZero;
    text.remove_prefix(zero + 1);
  }
  out.append(text);
}

// Takes one escaped name with its end off the front of `bytes`.
bool take_escaped(std::string_view& bytes, std::string& name) {
  for (;;) {
    const std::size_t zero = bytes.find(kEscape);
    if (zero == bytes.npos || zero + 1 == bytes.size()) return false;
    name.append(bytes.substr(0, zero));
    const char what = bytes[zero + 1];
    bytes.remove_prefix(zero + 2);
    if (what == kEnd) return true;
    if (what != kEscapedZero) return false;
    name += kEscape;
  }
}

std::uint32_t checksum(std::string_view encoded_key, std::string_view bytes) {
  const XXH64_hash_t seed = XXH3_64bits(encoded_key.data(), encoded_key.size());
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed));
}

std::unexpected<Error> corrupt(std::string_view encoded_key, std::string_view what) {
  const std::optional<Key> key = decode_key(encoded_key);
  const std::string name = key ? to_text(*key) : std::string("a record of the store itself");
  return failure(ErrorCode::corrupt, std::string(what) + ": " + name);
}

}  // namespace

void encode_home_prefix(std::string_view prefix, std::string& out) {
  out += kItemTag;
  append_escaped(prefix, out);
}

void encode_partition(const Partition& partition, std::string& out) {
  encode_home_prefix(partition.home, out);
  out += kEscape;
  out += kEnd;
  append_escaped(partition.part, out);
  out += kEscape;
  out += kEnd;
}

void encode_key(const Key& key, std::string& out) {
  encode_partition(key.partition, out);
  append_number(static_cast<std::uint64_t>(key.sort), out);
}

std::optional<Key> decode_key(std::string_view bytes) {
  if (bytes.empty() || bytes[0] != kItemTag) return std::nullopt;
  bytes.remove_prefix(1);
  Key key;
  if (!take_escaped(bytes, key.partition.home) || key.partition.home.empty()) return std::nullopt;
  if (!take_escaped(bytes, key.partition.part)) return std::nullopt;
  if (bytes.size() != kSortBytes) return std::nullopt;
  key.sort = sort_of(bytes);
  if (key.sort < 0) return std::nullopt;
  return key;
}

std::int64_t sort_of(std::string_view encoded_key) {
  return static_cast<std::int64_t>(
      number_at<std::uint64_t>(encoded_key, encoded_key.size() - kSortBytes));
}

std::string after_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == static_cast<char>(0xff)) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

Item to_item(const ItemView& view) {
  Item item{.value = std::int64_t{0}, .version = view.version, .expiry = view.expiry};
  if (view.number) {
    item.value = *view.number;
  } else {
    item.value = Bytes(view.bytes);
  }
  return item;
}

void encode_item(std::string_view encoded_key, const ItemView& item, std::string& out) {
  const std::size_t start = out.size();
  out += kItemFormat;
  out += item.number ? kNumberKind : kBytesKind;
  append_number(item.version.number, out);
  append_number(static_cast<std::uint64_t>(item.expiry.time_since_epoch().count()), out);
  if (item.number) {
    append_number(static_cast<std::uint64_t>(*item.number), out);
  } else {
    out.append(item.bytes);
  }
  append_number(checksum(encoded_key, std::string_view(out).substr(start)), out);
}

Result<ItemView> decode_item(std::string_view encoded_key, std::string_view bytes) {
  if (bytes.size() < kHeadBytes + kChecksumBytes) return corrupt(encoded_key, "item is cut short");
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (number_at<std::uint32_t>(bytes, body.size()) != checksum(encoded_key, body)) {
    return corrupt(encoded_key, "item fails its checksum");
  }
  if (body[0] != kItemFormat) return corrupt(encoded_key, "item has an unknown format");
  ItemView item;
  item.version = Version{number_at<std::uint64_t>(body, 2)};
  item.expiry = Time(Duration(static_cast<std::int64_t>(number_at<std::uint64_t>(body, 10))));
  item.bytes = body.substr(kHeadBytes);
  if (body[1] == kBytesKind) return item;
  if (body[1] != kNumberKind || item.bytes.size() != sizeof(std::int64_t)) {
    return corrupt(encoded_key, "item has an unknown form");
  }
  item.number = static_cast<std::int64_t>(number_at<std::uint64_t>(item.bytes, 0));
  item.bytes = {};
  return item;
}

std::string encode_format_number(std::uint32_t number) {
  std::string out(kFormatMagic);
  append_number(number, out);
  append_number(checksum({}, out), out);
  return out;
}

Result<std::uint32_t> decode_format_number(std::string_view bytes) {
  const std::size_t body = kFormatMagic.size() + sizeof(std::uint32_t);
  if (bytes.size() != body + kChecksumBytes || !bytes.starts_with(kFormatMagic) ||
      number_at<std::uint32_t>(bytes, body) != checksum({}, bytes.substr(0, body))) {
    return failure(ErrorCode::corrupt, "the record of the store's format fails its checks");
  }
  return number_at<std::uint32_t>(bytes, kFormatMagic.size());
}

}  // namespace once::format
