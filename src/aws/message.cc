#include "aws/message.h"

#include <algorithm>

namespace once::aws {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string lowered(std::string_view text) {
  std::string copy(text);
  std::ranges::transform(copy, copy.begin(), lower);
  return copy;
}

std::string_view header_of(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (std::ranges::equal(header.name, name, {}, lower, lower)) return header.value;
  }
  return "";
}

}  // namespace once::aws
