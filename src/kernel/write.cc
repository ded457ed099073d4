#include "once/write.h"

#include <string_view>

#include "base/encoding.h"

namespace once {
namespace {

void append_printable(std::string& text, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      text += c;
    } else {
      text.append("\\x").append(hex_encode({&c, 1}));
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

Write put(Key key, Value value, Guard guard, Time expiry) {
  return {.kind = Write::Kind::put,
          .guard = guard,
          .key = std::move(key),
          .value = std::move(value),
          .expiry = expiry,
          .version = {}};
}

Write add(Key key, std::int64_t amount, Guard guard, Time expiry) {
  Write write = put(std::move(key), amount, guard, expiry);
  write.kind = Write::Kind::add;
  return write;
}

Write raise(Key key, std::int64_t value, Guard guard, Time expiry) {
  Write write = put(std::move(key), value, guard, expiry);
  write.kind = Write::Kind::raise;
  return write;
}

Write erase(Key key, Guard guard) {
  Write write = put(std::move(key), std::int64_t{0}, guard);
  write.kind = Write::Kind::erase;
  return write;
}

Write check(Key key, Guard guard) {
  Write write = put(std::move(key), std::int64_t{0}, guard);
  write.kind = Write::Kind::check;
  return write;
}

}  // namespace once
