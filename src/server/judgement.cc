#include "server/judgement.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "wire/problem.h"
#include "wire/text.h"

namespace once::server {
namespace {

constexpr std::size_t kMaxHostName = 253;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

bool is_port_number(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, is_decimal);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxHostName && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_decimal(c) || c == '-' || c == '.' || c == '_';
  });
}

// The shortest form of an IPv6 address. One that stands for an IPv4 address becomes that.
std::optional<std::string> ipv6_text(const std::string& text) {
  in6_addr address{};
  if (::inet_pton(AF_INET6, text.c_str(), &address) != 1) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> out{};
  ::inet_ntop(AF_INET6, &address, out.data(), out.size());
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view shown(out.data());
  const bool is_mapped = shown.starts_with(kMapped) && shown.find('.') != std::string_view::npos;
  return std::string(is_mapped ? shown.substr(kMapped.size()) : shown);
}

// An address as parse_host() has it.
std::string address_text(std::string_view address) {
  std::string text(address.substr(0, address.find('%')));  // Without the interface.
  return ipv6_text(text).value_or(text);
}

bool is_loopback_name(const std::string& name) {
  if (name == "localhost" || name == "::1") return true;
  in_addr address{};
  return name.starts_with("127.") && ::inet_pton(AF_INET, name.c_str(), &address) == 1;
}

std::string_view port_of(std::string_view scheme) {
  return scheme == "http" ? "80" : scheme == "https" ? "443" : "";
}

bool is_scheme(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_decimal(c) || c == '+' || c == '-' || c == '.';
  });
}

Origin origin_at(std::string_view scheme, HostName host) {
  if (host.port == port_of(scheme)) host.port.clear();
  return {std::string(scheme), std::move(host)};
}

// The only value of the header; nothing if there is none or there are several.
std::optional<std::string_view> only(const wire::Headers& headers, std::string_view name) {
  return headers.count(name) == 1 ? headers.find(name) : std::nullopt;
}

// Something on the way may have made one line of several.
bool is_cross_site(const wire::Headers& headers) {
  const auto site = headers.find("Sec-Fetch-Site");
  return site && (headers.count("Sec-Fetch-Site") > 1 ||
                  wire::lowered(*site).find("cross-site") != std::string::npos);
}

void add_line(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

// Lets the script of a page read the answer, and its headers.
void allow_reading(std::string& out, std::string_view origin) {
  add_line(out, "Access-Control-Allow-Origin", origin);
  add_line(out, "Access-Control-Expose-Headers",
           "Allow, ETag, Idempotent-Replayed, Retry-After, WWW-Authenticate, X-Request-Id");
}

// A browser asks with OPTIONS before it sends what a plain page could not.
void allow_sending(std::string& out, const wire::Request& head) {
  if (head.method != "OPTIONS" || !head.headers.find("Access-Control-Request-Method")) return;
  add_line(out, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
  if (const auto wanted = head.headers.find("Access-Control-Request-Headers")) {
    add_line(out, "Access-Control-Allow-Headers", *wanted);
  }
  add_line(out, "Access-Control-Max-Age", "600");
}

}  // namespace

std::optional<HostName> parse_host(std::string_view text) {
  std::string lower = wire::lowered(text);
  const bool has_brackets = lower.starts_with('[');
  const std::size_t end = has_brackets ? lower.find(']') : lower.find(':');
  const std::size_t after = has_brackets && end != std::string::npos ? end + 1 : end;
  HostName host;
  if (after < lower.size()) {
    if (lower[after] != ':' || !is_port_number(std::string_view(lower).substr(after + 1))) {
      return std::nullopt;
    }
    host.port = lower.substr(after + 1);
  }
  if (!has_brackets) {
    host.name = lower.substr(0, end);
    return is_name(host.name) ? std::optional(host) : std::nullopt;
  }
  if (end == std::string::npos) return std::nullopt;
  std::optional<std::string> address = ipv6_text(lower.substr(1, end - 1));
  if (!address) return std::nullopt;
  host.name = std::move(*address);
  return host;
}

std::optional<Origin> parse_origin(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string scheme = wire::lowered(text.substr(0, end));
  std::optional<HostName> host = parse_host(text.substr(end + 3));
  if (!is_scheme(scheme) || !host) return std::nullopt;
  return origin_at(scheme, std::move(*host));
}

void Judgement::listens_on(std::string_view address, std::string_view scheme) {
  listening_ = address_text(address);
  scheme_ = scheme;
}

bool Judgement::has_name(const BrowserRules& rules, const HostName& host,
                         std::string_view reached) const {
  if (rules.any_host || is_loopback_name(host.name)) return true;
  if (host.name == listening_ || host.name == address_text(reached)) return true;
  return std::ranges::any_of(rules.hosts, [&](const HostName& listed) {
    return listed.name == host.name && (listed.port.empty() || listed.port == host.port);
  });
}

Verdict Judgement::refuse(BrowserRefusal why) {
  refused_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
  return {why, ""};
}

// The name first: by a name that is not ours, the page of an attacker is of the same origin.
Verdict Judgement::judge(const wire::Request& head, std::string_view reached) {
  if (!judges_) return {};
  const std::shared_ptr<const BrowserRules> rules = rules_.load();
  const wire::Headers& headers = head.headers;
  std::optional<HostName> host;
  if (headers.find("Host")) {
    const auto named = only(headers, "Host");
    host = named ? parse_host(*named) : std::nullopt;
    if (!host || !has_name(*rules, *host, reached)) return refuse(BrowserRefusal::host);
  }
  Verdict verdict;
  if (!rules->origins.empty()) add_line(verdict.headers, "Vary", "Origin");
  bool is_listed = false;
  if (headers.find("Origin")) {
    const auto named = only(headers, "Origin");
    const std::optional<Origin> origin = named ? parse_origin(*named) : std::nullopt;
    if (!origin) return refuse(BrowserRefusal::origin);
    is_listed = std::ranges::find(rules->origins, *origin) != rules->origins.end();
    const bool is_own = host && *origin == origin_at(scheme_, *host);
    if (!is_listed && !is_own) return refuse(BrowserRefusal::origin);
    if (is_listed) allow_reading(verdict.headers, *named);
    if (is_listed) allow_sending(verdict.headers, head);
  }
  if (!is_listed && is_cross_site(headers)) return refuse(BrowserRefusal::cross_site);
  return verdict;
}

wire::Response refusal_of(BrowserRefusal why) {
  if (why == BrowserRefusal::host) {
    return wire::Problem(wire::Code::forbidden,
                         "the request names a host that is not this server's; --host lists others")
        .status(421)
        .title("The request is for another host")
        .finish();
  }
  return wire::problem(wire::Code::forbidden,
                       "a web page of another origin may not call; --allow-origin lists those that "
                       "may");
}

}  // namespace once::server
