#include "primitives/text_armor.h"

#include <cstdint>

namespace once {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string armored(std::string_view bytes) {
  std::string text((bytes.size() * 4 + 2) / 3, '\0');
  std::uint32_t held = 0;
  int bits = 0;
  auto out = text.begin();
  for (const char c : bytes) {
    held = held << 8 | static_cast<std::uint8_t>(c);
    for (bits += 8; bits >= 6; bits -= 6) *out++ = kAlphabet[held >> (bits - 6) & 63];
  }
  if (bits > 0) *out = kAlphabet[held << (6 - bits) & 63];
  return text;
}

std::optional<Bytes> unarmored(std::string_view text) {
  Bytes bytes;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    held = held << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(held >> bits);
    }
  }
  // Left-over bits must be padding, and less than a digit of it.
  if (bits >= 6 || (held & ((1U << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace once
