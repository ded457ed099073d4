#include "base/printable_address.h"

namespace once {

// Up to the last @, because a password that was not percent-encoded may have one, or a slash.
std::string_view password_in(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view place = text.substr(scheme + 3);
  place = place.substr(0, place.find('?'));
  const std::size_t end = place.rfind('@');
  const std::size_t colon = place.find(':');
  if (end == std::string_view::npos || colon >= end) return {};
  return place.substr(colon + 1, end - colon - 1);
}

std::string printable_address(std::string_view text) {
  const std::string_view password = password_in(text);
  if (password.empty()) return std::string(text);
  const auto at = static_cast<std::size_t>(password.data() - text.data());
  std::string out(text.substr(0, at));
  return out.append("***").append(text.substr(at + password.size()));
}

}  // namespace once
