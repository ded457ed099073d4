#include "proxy/headers.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <span>

namespace once::proxy {
namespace {

constexpr std::array<std::string_view, 9> kOfAConnection = {
    "Connection", "Keep-Alive",        "Proxy-Connection", "Proxy-Authenticate", "TE",
    "Trailer",    "Transfer-Encoding", "Upgrade",          "Proxy-Authorization"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Whether a Connection header names it: "close, X-Hop".
bool is_nominated(const api::Headers& headers, std::string_view name) {
  for (const auto& field : headers.fields()) {
    if (!same_name(field.name, "Connection")) continue;
    for (const auto part : std::views::split(std::string_view(field.value), ',')) {
      if (same_name(trimmed(std::string_view(part.begin(), part.end())), name)) return true;
    }
  }
  return false;
}

// Servers that make variables of headers read Content_Length as Content-Length.
bool may_be_read_as(std::string_view name, std::string_view known) {
  const auto folded = [](char c) { return c == '_' ? '-' : lower(c); };
  return std::ranges::equal(name, known, {}, folded, folded);
}

api::Headers without(const api::Headers& headers, std::span<const std::string_view> names) {
  api::Headers kept;
  const auto is_one_of = [](std::string_view name, std::span<const std::string_view> those) {
    return std::ranges::any_of(those, [&](auto one) { return may_be_read_as(name, one); });
  };
  for (const auto& [name, value] : headers.fields()) {
    if (is_one_of(name, kOfAConnection) || is_one_of(name, names)) continue;
    if (!is_nominated(headers, name)) kept.add(name, value);
  }
  return kept;
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

api::Headers towards_upstream(const api::Headers& headers) {
  // The body is here already, so nobody waits for a `100 Continue`.
  constexpr std::array<std::string_view, 3> kAnew = {"Host", "Content-Length", "Expect"};
  api::Headers forwarded = without(headers, kAnew);
  forwarded.add("Via", "1.1 once");
  return forwarded;
}

api::Headers with_length(const api::Headers& headers) { return without(headers, {}); }

api::Headers towards_client(const api::Headers& headers, std::string_view method) {
  constexpr std::array<std::string_view, 1> kAnew = {"Content-Length"};
  return method == "HEAD" ? with_length(headers) : without(headers, kAnew);
}

api::Headers without_cookies(const api::Headers& headers) {
  api::Headers kept;
  for (const auto& [name, value] : headers.fields()) {
    if (!same_name(name, "Set-Cookie") && !same_name(name, "Set-Cookie2")) kept.add(name, value);
  }
  return kept;
}

}  // namespace once::proxy
