#include "base/names.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace once::keys {
namespace {

constexpr std::size_t kMaxName = 512;
constexpr std::size_t kMaxNamespace = 64;

// The length of the UTF-8 character at the start of `text`; 0 if it is not allowed in a name.
std::size_t name_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool control = lead == 0xc2 && byte(1) < 0xa0;
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
  const bool too_large = lead == 0xf4 && byte(1) >= 0x90;
  return control || overlong || surrogate || too_large ? 0 : length;
}

// Whether all bytes are 0x20 to 0x7e, as in most names. Checks eight at a time: a smaller byte
// borrows into its top bit, 0x7f carries into it, and larger ones have it set.
bool is_printable_ascii(std::string_view name) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  std::uint64_t wrong = 0;
  for (; !name.empty(); name.remove_prefix(std::min<std::size_t>(8, name.size()))) {
    std::uint64_t eight = kEach * ' ';
    std::memcpy(&eight, name.data(), std::min<std::size_t>(8, name.size()));
    wrong |= (eight - kEach * 0x20) | (eight + kEach) | eight;
  }
  return (wrong & kEach * 0x80) == 0;
}

bool in_namespace(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

Result<void> check_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName) {
    return failure(ErrorCode::invalid, "a key has 1 to 512 bytes");
  }
  if (is_printable_ascii(name)) return {};
  while (!name.empty()) {
    const std::size_t length = name_character(name);
    if (length == 0) {
      return failure(ErrorCode::invalid, "a key is UTF-8 without control characters");
    }
    name.remove_prefix(length);
  }
  return {};
}

Result<void> check_prefix(std::string_view prefix) {
  if (prefix.empty() || check_name(prefix)) return {};
  return failure(ErrorCode::invalid,
                 "a prefix is up to 512 bytes of UTF-8 without control characters");
}

Result<void> check_namespace(std::string_view name_space) {
  bool sound = !name_space.empty() && name_space.size() <= kMaxNamespace;
  for (const char c : name_space) sound = sound && in_namespace(c);
  if (sound) return {};
  return failure(ErrorCode::invalid, "a namespace has 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'");
}

}  // namespace once::keys
