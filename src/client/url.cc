#include "client/url.h"

#include "wire/text.h"

namespace once::client {
namespace {

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kTls = "https://";

// Where the host ends: an IPv6 address has brackets, and colons inside.
std::size_t end_of_host(std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  return bracket == std::string_view::npos ? text.size() : text.find(':', bracket);
}

}  // namespace

std::optional<Url> parse_url(std::string_view text) {
  const bool tls = text.starts_with(kTls);
  if (!tls && !text.starts_with(kPlain)) return std::nullopt;
  text.remove_prefix(tls ? kTls.size() : kPlain.size());
  if (text.ends_with('/')) text.remove_suffix(1);
  for (const char c : text) {
    if (c <= ' ' || c == '/' || c == '?' || c == '#' || c == '@') return std::nullopt;
  }
  const std::size_t end = end_of_host(text);
  Url url{tls, std::string(text.substr(0, end)), tls ? "443" : "80", std::string(text)};
  if (end < text.size()) {
    const auto port = api::parse_integer(text.substr(end + 1));
    if (!port || *port < 1 || *port > 65'535) return std::nullopt;
    url.port = std::to_string(*port);
  }
  if (url.host.starts_with('[')) {
    if (url.host.size() < 3 || !url.host.ends_with(']')) return std::nullopt;
    url.host = url.host.substr(1, url.host.size() - 2);
  }
  if (url.host.empty()) return std::nullopt;
  return url;
}

}  // namespace once::client
