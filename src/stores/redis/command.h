// A command for the server, as it goes over the wire.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace once::redis {

struct Command {
  std::string bytes;
  std::uint16_t slot = 0;  // Of its keys, on a cluster.
  bool reads = false;      // May be performed before or after others, and again.
};

// The parts of a command, one by one.
class CommandText {
 public:
  explicit CommandText(std::size_t parts) { number('*', parts); }

  CommandText& part(std::string_view text) {
    number('$', text.size());
    bytes_.append(text).append("\r\n");
    return *this;
  }

  std::string take() { return std::move(bytes_); }

 private:
  void number(char kind, std::size_t value) {
    bytes_ += kind;
    bytes_.append(std::to_string(value)).append("\r\n");
  }

  std::string bytes_;
};

inline std::string text_of(std::initializer_list<std::string_view> parts) {
  CommandText text(parts.size());
  for (const std::string_view part : parts) text.part(part);
  return text.take();
}

}  // namespace once::redis
