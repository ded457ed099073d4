#include "base/encoding.h"

#include <array>
#include <cstdint>

namespace once {
namespace {

constexpr std::string_view kUrlAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kPlainAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUpperHex = "0123456789ABCDEF";
constexpr std::string_view kLowerHex = "0123456789abcdef";

constexpr std::uint8_t kNoDigit = 0xff;
using Digits = std::array<std::uint8_t, 256>;  // The digit that a character is, or kNoDigit.

constexpr Digits digits_of(std::string_view alphabet) {
  Digits digits{};
  digits.fill(kNoDigit);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    digits.at(static_cast<std::uint8_t>(alphabet[i])) = static_cast<std::uint8_t>(i);
  }
  return digits;
}

constexpr Digits kUrlDigits = digits_of(kUrlAlphabet);
constexpr Digits kPlainDigits = digits_of(kPlainAlphabet);

constexpr Digits hex_digits() {
  Digits digits = digits_of(kLowerHex);
  for (std::size_t i = 10; i < 16; ++i) {
    digits.at(static_cast<std::uint8_t>(kUpperHex[i])) = static_cast<std::uint8_t>(i);
  }
  return digits;
}

constexpr Digits kHexDigits = hex_digits();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

// Three bytes are four digits.
std::string encode_sixes(std::string_view bytes, std::string_view alphabet) {
  std::string text((bytes.size() * 4 + 2) / 3, '\0');
  auto out = text.begin();
  for (; bytes.size() >= 3; bytes.remove_prefix(3)) {
    const std::uint32_t held = byte_at(bytes, 0) << 16 | byte_at(bytes, 1) << 8 | byte_at(bytes, 2);
    *out++ = alphabet[held >> 18];
    *out++ = alphabet[held >> 12 & 63];
    *out++ = alphabet[held >> 6 & 63];
    *out++ = alphabet[held & 63];
  }
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<std::uint8_t>(c);
    for (bits += 8; bits >= 6; bits -= 6) *out++ = alphabet[held >> (bits - 6) & 63];
  }
  if (bits > 0) *out = alphabet[held << (6 - bits) & 63];
  return text;
}

std::optional<Bytes> decode_sixes(std::string_view text, const Digits& digits) {
  const auto digit_at = [&](std::size_t at) -> std::uint32_t { return digits[byte_at(text, at)]; };
  Bytes bytes(text.size() * 3 / 4, '\0');
  auto out = bytes.begin();
  std::uint32_t any = 0;
  for (; text.size() >= 4; text.remove_prefix(4)) {
    const std::uint32_t a = digit_at(0);
    const std::uint32_t b = digit_at(1);
    const std::uint32_t c = digit_at(2);
    const std::uint32_t d = digit_at(3);
    any |= a | b | c | d;
    const std::uint32_t held = a << 18 | b << 12 | c << 6 | d;
    *out++ = static_cast<char>(held >> 16);
    *out++ = static_cast<char>(held >> 8);
    *out++ = static_cast<char>(held);
  }
  std::uint32_t held = 0;
  int bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    any |= digit_at(i);
    held = held << 6 | digit_at(i);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      *out++ = static_cast<char>(held >> bits);
    }
  }
  if (any > 63) return std::nullopt;
  // The bits left over are zero, and fewer than a digit has: every text has one form.
  if (bits >= 6 || (held & ((1U << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

void append_hex(std::string& out, char c, std::string_view digits) {
  const auto byte = static_cast<std::uint8_t>(c);
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

}  // namespace

std::string base64url_encode(std::string_view bytes) { return encode_sixes(bytes, kUrlAlphabet); }

std::optional<Bytes> base64url_decode(std::string_view text) {
  return decode_sixes(text, kUrlDigits);
}

std::string base64_encode(std::string_view bytes) {
  std::string text = encode_sixes(bytes, kPlainAlphabet);
  return text.append((4 - text.size() % 4) % 4, '=');
}

std::optional<Bytes> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return decode_sixes(text, kPlainDigits);
}

std::string percent_encode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      out += '%';
      append_hex(out, c, kUpperHex);
    }
  }
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const std::uint8_t high = kHexDigits.at(static_cast<std::uint8_t>(text[i + 1]));
    const std::uint8_t low = kHexDigits.at(static_cast<std::uint8_t>(text[i + 2]));
    if (high == kNoDigit || low == kNoDigit) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return out;
}

std::string hex_encode(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) append_hex(out, c, kLowerHex);
  return out;
}

void append_part(std::string& name, std::string_view part) {
  name.append(std::to_string(part.size())).append(":").append(part);
}

}  // namespace once
