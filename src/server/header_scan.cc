#include "server/header_scan.h"

#include <algorithm>
#include <array>

#include "base/byte_words.h"
#include "wire/problem.h"

namespace once::server {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool same_text(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool begins_with(std::string_view text, std::string_view prefix) {
  return same_text(text.substr(0, prefix.size()), prefix);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// A field that a request may have once.
struct SingleField {
  std::string_view name;  // With its colon.
  std::size_t count = 0;
  std::string_view value;

  void take(std::string_view line) {
    if (line.empty() || lower(line[0]) != lower(name[0]) || !begins_with(line, name)) return;
    ++count;
    value = trimmed(line.substr(name.size()));
  }
};

// What of a header decides where its request ends and whom it is for.
struct Essentials {
  std::string_view target;
  bool http_1_0 = false;
  bool http_1_1 = false;
  SingleField host{"Host:"};
  SingleField content_length{"Content-Length:"};
  SingleField transfer_encoding{"Transfer-Encoding:"};
};

Essentials essentials_of(std::string_view header) {
  Essentials found;
  const auto next_line = [&header] {
    const std::size_t end = std::min(header.find(kLineEnd), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + kLineEnd.size(), header.size()));
    return line;
  };
  const std::string_view first = next_line();
  found.http_1_0 = first.ends_with(" HTTP/1.0");
  found.http_1_1 = first.ends_with(" HTTP/1.1");
  const std::size_t method_end = std::min(first.find(' '), first.size());
  found.target = first.substr(method_end);
  if (!found.target.empty()) found.target.remove_prefix(1);
  found.target = found.target.substr(0, found.target.find(' '));
  while (!header.empty()) {
    const std::string_view line = next_line();
    found.host.take(line);
    found.content_length.take(line);
    found.transfer_encoding.take(line);
  }
  return found;
}

struct AbsoluteTarget {
  std::string_view authority;
  std::string_view default_port;
  std::string_view path;  // And query. May be empty.
};

std::optional<AbsoluteTarget> absolute(std::string_view target) {
  struct Scheme {
    std::string_view prefix;
    std::string_view default_port;
  };
  constexpr std::array kSchemes = {Scheme{"http://", ":80"}, Scheme{"https://", ":443"}};
  if (target.starts_with('/')) return std::nullopt;
  for (const auto& [prefix, port] : kSchemes) {
    if (!begins_with(target, prefix)) continue;
    const std::string_view rest = target.substr(prefix.size());
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    return AbsoluteTarget{rest.substr(0, end), port, rest.substr(end)};
  }
  return std::nullopt;
}

bool names_host(const AbsoluteTarget& target, std::string_view host) {
  const auto without_port = [&](std::string_view authority) {
    if (authority.ends_with(target.default_port)) {
      authority.remove_suffix(target.default_port.size());
    }
    return authority;
  };
  return same_text(without_port(target.authority), without_port(host));
}

bool is_port(std::string_view text) {
  constexpr std::size_t kMostDigits = 5;
  return text.empty() || (text.starts_with(':') && text.size() <= kMostDigits + 1 &&
                          std::ranges::all_of(text.substr(1), is_digit));
}

// host, host:port, [v6] or [v6]:port.
bool is_authority(std::string_view text) {
  const auto is_letter = [](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; };
  const auto in_name = [&](char c) {
    constexpr std::string_view kAllowed = "-._~%!$&'()*+;=";
    return is_letter(c) || is_digit(c) || kAllowed.find(c) != std::string_view::npos;
  };
  const auto in_v6 = [&](char c) { return is_digit(c) || is_letter(c) || c == ':' || c == '.'; };
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    return end != std::string_view::npos && end > 1 &&
           std::ranges::all_of(text.substr(1, end - 1), in_v6) && is_port(text.substr(end + 1));
  }
  const std::size_t end = std::min(text.find(':'), text.size());
  return end > 0 && std::ranges::all_of(text.substr(0, end), in_name) && is_port(text.substr(end));
}

std::optional<api::Response> refused(std::string_view why) {
  return api::problem(api::Code::invalid, why);
}

std::optional<api::Response> judge_body(const Essentials& header) {
  const SingleField& coding = header.transfer_encoding;
  const SingleField& length = header.content_length;
  if (coding.count > 1 || (coding.count == 1 && !same_text(coding.value, "chunked"))) {
    return api::Problem(api::Code::unsupported, "a Transfer-Encoding is chunked alone")
        .title("Not supported")
        .finish();
  }
  if (coding.count > 0 && header.http_1_0) return refused("HTTP/1.0 has no Transfer-Encoding");
  if (coding.count > 0 && length.count > 0) {
    return refused("both Transfer-Encoding and Content-Length");
  }
  if (length.count > 1) return refused("more than one Content-Length");
  if (length.count == 1 && (length.value.empty() || !std::ranges::all_of(length.value, is_digit))) {
    return refused("a Content-Length is a number");
  }
  return std::nullopt;
}

std::optional<api::Response> judge_host(const Essentials& header) {
  const SingleField& host = header.host;
  if (host.count > 1) return refused("more than one Host");
  if (host.count == 0 && header.http_1_1) return refused("a request has a Host");
  if (host.count == 1 && !is_authority(host.value)) return refused("a Host is host:port");
  const auto target = absolute(header.target);
  if (target && (host.count == 0 || !names_host(*target, host.value))) {
    return refused("the target is of another host than Host");
  }
  return std::nullopt;
}

}  // namespace

std::expected<std::optional<std::size_t>, std::string_view> HeaderScan::find_end(
    std::string_view bytes) {
  for (; scanned_ < bytes.size(); ++scanned_) {
    // Eight characters of text at once, but for the first of a line.
    while (scanned_ != line_ && bytes.size() - scanned_ > kWordBytes &&
           !any_less(word_at(bytes.data() + scanned_), '\r' + 1)) {
      scanned_ += kWordBytes;
    }
    const auto c = static_cast<unsigned char>(bytes[scanned_]);
    if (scanned_ == line_ && is_blank(bytes[scanned_])) {
      return std::unexpected("a line that begins with a blank");
    }
    if (c > '\r' || c == '\t') continue;  // Text.
    if (c != '\r') return std::unexpected("a control character, or a line end without CR");
    if (scanned_ + 1 == bytes.size()) return std::nullopt;
    if (bytes[scanned_ + 1] != '\n') return std::unexpected("a CR without LF");
    if (scanned_ == line_) return scanned_ + 2;
    line_ = ++scanned_ + 1;
  }
  return std::nullopt;
}

std::optional<api::Response> judge_header(std::string_view header) {
  const Essentials found = essentials_of(header);
  if (auto refusal = judge_body(found)) return refusal;
  return judge_host(found);
}

std::string origin_form(std::string_view target) {
  const auto parts = absolute(target);
  if (!parts) return std::string(target);
  const std::string root = parts->path.starts_with('/') ? "" : "/";
  return root + std::string(parts->path);
}

bool has_bare_line_end(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r')) return true;
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] != '\n') return true;
  }
  return false;
}

}  // namespace once::server
