#include "once/key.h"

#include <string_view>

namespace once {
namespace {

void append_printable(std::string& text, std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      text += c;
    } else {
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 0xf];
    }
  }
}

}  // namespace

std::string to_text(const Key& key) {
  std::string text;
  append_printable(text, key.partition.home);
  if (!key.partition.part.empty()) {
    text += '/';
    append_printable(text, key.partition.part);
  }
  return text + '@' + std::to_string(key.sort);
}

}  // namespace once
