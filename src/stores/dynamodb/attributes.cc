#include "stores/dynamodb/attributes.h"

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/encoding.h"

namespace once::dynamodb {
namespace {

// The text of attribute `name` if it is of `type`.
const std::string* text_of(const Json& attributes, const char* name, const char* type) {
  if (!attributes.is_object()) return nullptr;
  const auto attribute = attributes.find(name);
  if (attribute == attributes.end() || !attribute->is_object()) return nullptr;
  const auto value = attribute->find(type);
  return value == attribute->end() ? nullptr : value->get_ptr<const std::string*>();
}

template <class Integer>
std::optional<Integer> integer_of(const Json& attributes, const char* name) {
  const std::string* text = text_of(attributes, name, "N");
  if (text == nullptr) return std::nullopt;
  Integer value = 0;
  const char* const end = std::to_address(text->end());
  const auto [stopped, error] = std::from_chars(std::to_address(text->begin()), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

std::optional<Value> value_of(const Json& attributes) {
  if (const auto integer = integer_of<std::int64_t>(attributes, "v")) return Value(*integer);
  const std::string* text = text_of(attributes, "v", "B");
  if (text == nullptr) return std::nullopt;
  std::optional<std::string> bytes = base64_decode(*text);
  if (!bytes) return std::nullopt;
  return Value(std::move(*bytes));
}

constexpr std::string_view kBorder = "\xe2\x94\x82";  // U+2502
constexpr std::string_view kEscape = "\xf4\x8f";      // How U+10F000 to U+10FFFF begin.
constexpr std::size_t kEscapeLength = 4;

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

// The length of the UTF-8 character at the start of `text`; 0 if there is no such character.
std::size_t character(std::string_view text) {
  const std::uint8_t lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  }
  const std::uint8_t second = byte_at(text, 1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool too_large = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

// U+10FF00 to U+10FFFF.
bool is_escape(std::string_view character) {
  return character.size() == kEscapeLength && character.starts_with(kEscape) &&
         byte_at(character, 2) >= 0xbc;
}

void append_escaped(std::string& out, std::uint8_t byte) {
  out += kEscape;
  out += static_cast<char>(0xbc | (byte >> 6));
  out += static_cast<char>(0x80 | (byte & 0x3f));
}

char unescaped(std::string_view character) {
  return static_cast<char>(((byte_at(character, 2) & 0x03) << 6) | (byte_at(character, 3) & 0x3f));
}

void append_encoded(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = character(bytes);
    const std::string_view whole = bytes.substr(0, length);
    if (length == 0) {
      append_escaped(out, byte_at(bytes, 0));
      bytes.remove_prefix(1);
      continue;
    }
    if (whole == kBorder || is_escape(whole)) {
      for (std::size_t i = 0; i < length; ++i) append_escaped(out, byte_at(whole, i));
    } else {
      out += whole;
    }
    bytes.remove_prefix(length);
  }
}

std::optional<std::string> decoded(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0) return std::nullopt;
    const std::string_view whole = text.substr(0, length);
    if (is_escape(whole)) {
      bytes += unescaped(whole);
    } else {
      bytes += whole;
    }
    text.remove_prefix(length);
  }
  return bytes;
}

}  // namespace

Json number(std::int64_t value) { return {{"N", std::to_string(value)}}; }
Json number(std::uint64_t value) { return {{"N", std::to_string(value)}}; }

std::int64_t ttl_of(Time expiry) {
  const Time safe = later(expiry, kClockError);
  return std::chrono::ceil<std::chrono::seconds>(safe.time_since_epoch()).count();
}

Result<Json> key_attributes(const Key& key) {
  std::string name = encode_partition(key.partition);
  if (name.size() > kMaxNameBytes) {
    return failure(ErrorCode::invalid,
                   "key takes more than DynamoDB's " + std::to_string(kMaxNameBytes) + " bytes");
  }
  return Json{{"pk", {{"S", std::move(name)}}}, {"sk", number(key.sort)}};
}

void add_item(Json& attributes, const Item& item) {
  if (const auto* integer = std::get_if<std::int64_t>(&item.value)) {
    attributes["v"] = number(*integer);
  } else {
    attributes["v"] = {{"B", base64_encode(std::get<Bytes>(item.value))}};
  }
  attributes["ver"] = number(item.version.number);
  if (item.expiry == kNever) return;
  attributes["exp"] = number(std::int64_t{item.expiry.time_since_epoch().count()});
  attributes["ttl"] = number(ttl_of(item.expiry));
}

Result<Item> item_in(const Json& attributes) {
  std::optional<Value> value = value_of(attributes);
  const auto version = integer_of<std::uint64_t>(attributes, "ver");
  const bool expires = attributes.is_object() && attributes.contains("exp");
  const auto expiry = integer_of<std::int64_t>(attributes, "exp");
  if (!value || !version || (expires && !expiry)) {
    return failure(ErrorCode::corrupt, "an item of the table is not one of Once");
  }
  return Item{std::move(*value), Version{*version}, expires ? Time(Duration(*expiry)) : kNever};
}

std::optional<Version> replaced_by(const Json& attributes) {
  const auto number = integer_of<std::uint64_t>(attributes, "was");
  return number ? std::optional(Version{*number}) : std::nullopt;
}

std::optional<std::int64_t> number_in(const Json& attributes) {
  return integer_of<std::int64_t>(attributes, "v");
}

Result<Key> key_in(const Json& attributes) {
  const std::string* name = text_of(attributes, "pk", "S");
  const auto sort = integer_of<std::int64_t>(attributes, "sk");
  std::optional<Partition> partition;
  if (name != nullptr) partition = decode_partition(*name);
  if (!partition || !sort) {
    return failure(ErrorCode::corrupt, "a key of the table is not one of Once");
  }
  return Key{std::move(*partition), *sort};
}

std::string encode_partition(const Partition& partition) {
  std::string text;
  text.reserve(partition.home.size() + partition.part.size() + kBorder.size());
  append_encoded(text, partition.home);
  if (partition.part.empty()) return text;
  text += kBorder;
  append_encoded(text, partition.part);
  return text;
}

std::optional<Partition> decode_partition(std::string_view text) {
  const std::size_t border = text.find(kBorder);
  const bool has_part = border != std::string_view::npos;
  std::optional<std::string> home = decoded(text.substr(0, border));
  std::optional<std::string> part =
      decoded(has_part ? text.substr(border + kBorder.size()) : std::string_view());
  if (!home || !part) return std::nullopt;
  Partition partition{std::move(*home), std::move(*part)};
  // One form for each partition, so that no two keys can mean the same.
  if (partition.home.empty() || encode_partition(partition) != text) return std::nullopt;
  return partition;
}

std::string encode_home_prefix(std::string_view home_prefix) {
  // Only as far as a longer home cannot make another character of its end.
  std::size_t plain = 0;
  while (plain < home_prefix.size() && byte_at(home_prefix, plain) < 0x80) ++plain;
  return std::string(home_prefix.substr(0, plain));
}

}  // namespace once::dynamodb
