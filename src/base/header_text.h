// What may be written as a header of HTTP (RFC 9110, 5.5 and 5.6.2). A line break in one would
// begin another header, or the body.
#pragma once

#include <algorithm>
#include <string_view>

namespace once {

// Visible characters, spaces, tabs, and bytes beyond ASCII.
constexpr bool is_header_value(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
  });
}

constexpr bool is_header_name(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.contains(c);
  });
}

}  // namespace once
