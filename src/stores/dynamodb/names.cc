#include "stores/dynamodb/names.h"

#include <cstdint>

namespace once::dynamodb {
namespace {

constexpr std::string_view kBorder = "\xe2\x94\x82";  // U+2502
constexpr std::string_view kEscape = "\xf4\x8f";      // How U+10F000 to U+10FFFF begin.
constexpr std::size_t kEscapeLength = 4;

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

// The length of the UTF-8 character at the start of `text`; 0 if that is none.
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
