#include "base/uri.h"

#include <algorithm>
#include <utility>

namespace once {
namespace {

constexpr std::size_t kMaxEndpoint = 2'048;

bool is_uri_digit(char c) { return c >= '0' && c <= '9'; }
bool is_uri_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_uri_hex(char c) {
  return is_uri_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_among(char c, std::string_view those) { return those.find(c) != std::string_view::npos; }

// Unreserved and sub-delims of RFC 3986, and what a path, a query and a fragment have besides.
bool in_uri(char c) {
  return is_uri_alpha(c) || is_uri_digit(c) || is_among(c, "-._~!$&'()*+,;=:@/?");
}

bool is_scheme(std::string_view text) {
  return !text.empty() && is_uri_alpha(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_uri_alpha(c) || is_uri_digit(c) || is_among(c, "+-.");
  });
}

// All of it but what the grammar says of single parts: each character may stand in a URI, and a %
// is followed by two hex digits. Brackets are for the addresses of hosts.
bool has_sound_characters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || !is_uri_hex(text[i + 1]) || !is_uri_hex(text[i + 2]))
        return false;
      i += 2;
    } else if (!in_uri(text[i])) {
      return false;
    }
  }
  return true;
}

bool is_authority(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    if (!has_sound_characters(text.substr(0, at))) return false;
    text.remove_prefix(at + 1);
  }
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || !has_sound_characters(text.substr(1, end - 1))) {
      return false;
    }
    text.remove_prefix(end + 1);
    if (!text.empty() && text.front() != ':') return false;
  }
  const std::size_t colon = text.find(':');
  const std::string_view port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  return text.find('@') == std::string_view::npos && has_sound_characters(text) &&
         std::ranges::all_of(port, is_uri_digit);
}

}  // namespace

bool is_uri_reference(std::string_view text) {
  const std::size_t hash = std::min(text.find('#'), text.size());
  if (hash < text.size() && !has_sound_characters(text.substr(hash + 1))) return false;
  std::string_view rest = text.substr(0, hash);
  const std::size_t colon = rest.find_first_of(":/?");
  if (colon != std::string_view::npos && rest[colon] == ':') {
    if (!is_scheme(rest.substr(0, colon))) return false;
    rest.remove_prefix(colon + 1);
  }
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    if (!is_authority(rest.substr(0, end))) return false;
    rest.remove_prefix(end);
  }
  return has_sound_characters(rest);
}

bool is_absolute_uri(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && is_scheme(text.substr(0, colon)) &&
         colon + 1 < text.size() && is_uri_reference(text);
}

std::optional<HttpEndpoint> parse_endpoint(std::string_view url) {
  const std::size_t scheme = url.find("://") + 3;
  if (!(url.starts_with("http://") || url.starts_with("https://")) || url.size() > kMaxEndpoint ||
      url.find('#') != std::string_view::npos || !is_absolute_uri(url)) {
    return std::nullopt;
  }
  const std::string_view rest = url.substr(scheme);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  if (authority.empty() || authority.find('@') != std::string_view::npos) return std::nullopt;
  std::string target;
  if (!rest.substr(end).starts_with('/')) target += '/';
  target += rest.substr(end);
  return HttpEndpoint{std::string(url.substr(0, scheme)).append(authority), std::move(target)};
}

}  // namespace once
