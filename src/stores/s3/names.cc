#include "stores/s3/names.h"

#include <charconv>
#include <limits>
#include <memory>

#include "base/digest.h"
#include "base/encoding.h"

namespace once::s3 {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kPartBorder = "/!p/";
constexpr std::string_view kSortBorder = "/!s/";
constexpr std::size_t kSortDigits = 16;
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// Whether the dot at `at` begins a segment of nothing but dots.
bool begins_dots(std::string_view text, std::size_t at) {
  if (at > 0 && text[at - 1] != '/') return false;
  const std::size_t end = text.find_first_not_of('.', at);
  return end == std::string_view::npos || text[end] == '/';
}

bool ends_segment(std::string_view text, std::size_t at) {
  return at > 0 && at + 1 < text.size() && text[at + 1] != '/';
}

void append_escaped(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool stays =
        plain(c) || (c == '.' && !begins_dots(text, i)) || (c == '/' && ends_segment(text, i));
    if (stays) {
      out += c;
    } else {
      out += '!';
      out += hex_encode({&c, 1});
    }
  }
}

std::string plain_name(const Partition& partition) {
  std::string name;
  append_escaped(name, partition.home);
  if (!partition.part.empty()) {
    name += kPartBorder;
    append_escaped(name, partition.part);
  }
  return name;
}

}  // namespace

std::string partition_name(const Partition& partition) {
  const std::string whole = plain_name(partition);
  const bool fits = whole.size() <= kMaxPlainBytes;
  std::string name(fits ? kPlainTree : kHashedTree);
  return name.append(fits ? whole : sha256_hex(whole)).append(kSortBorder);
}

std::string object_name(const Key& key) {
  return partition_name(key.partition).append(sort_name(key.sort));
}

std::string sort_name(std::int64_t sort) {
  auto left = static_cast<std::uint64_t>(kLast - sort);
  std::string digits(kSortDigits, '0');
  for (std::size_t i = kSortDigits; i > 0; --i, left >>= 4U) digits[i - 1] = kHex[left & 15U];
  return digits;
}

std::optional<std::int64_t> sort_in(std::string_view name) {
  if (name.size() < kSortDigits + kSortBorder.size()) return std::nullopt;
  const std::string_view digits = name.substr(name.size() - kSortDigits);
  if (!name.substr(0, name.size() - kSortDigits).ends_with(kSortBorder)) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = std::to_address(digits.end());
  const auto [stopped, error] = std::from_chars(std::to_address(digits.begin()), end, number, 16);
  if (error != std::errc() || stopped != end || number < 0) return std::nullopt;
  const std::int64_t sort = kLast - number;
  if (sort_name(sort) != digits) return std::nullopt;
  return sort;
}

std::string home_prefix_name(std::string_view home_prefix) {
  // Only as far as what follows cannot change how it is written.
  const std::size_t last = home_prefix.find_last_not_of("./");
  std::string name(kPlainTree);
  if (last != std::string_view::npos) append_escaped(name, home_prefix.substr(0, last + 1));
  return name;
}

}  // namespace once::s3
