#include "aws/signer.h"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/encoding.h"

namespace once::aws {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Without empty segments and dots, each segment encoded once more than on the wire. S3 alone takes
// the path as it is, because "a//b" is a name there.
std::string canonical_path(std::string_view path, const Scope& scope) {
  if (path.empty()) return "/";
  if (scope.service == "s3") return std::string(path);
  std::vector<std::string_view> kept;
  for (const std::string_view segment : split(path, '/')) {
    if (segment == ".." && !kept.empty()) kept.pop_back();
    if (!segment.empty() && segment != "." && segment != "..") kept.push_back(segment);
  }
  std::string text;
  for (const std::string_view segment : kept) text.append("/").append(percent_encode(segment));
  if (text.empty() || path.back() == '/') text += '/';
  return text;
}

// Signatures cover one form of percent-encoding, whichever form was given.
std::string canonical_part(std::string_view text) {
  return percent_encode(percent_decode(text).value_or(std::string(text)));
}

std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const std::string_view field : split(query, '&')) {
    if (field.empty()) continue;
    const std::size_t equals = field.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : field.substr(equals + 1);
    fields.emplace_back(canonical_part(field.substr(0, equals)), canonical_part(value));
  }
  std::ranges::sort(fields);
  std::string text;
  for (const auto& [name, value] : fields) {
    if (!text.empty()) text += '&';
    text.append(name).append("=").append(value);
  }
  return text;
}

// Without spaces at the ends, and one for each run of them within.
std::string folded(std::string_view value) {
  std::string text;
  for (const char c : value) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) text += c;
    if (space && !text.empty() && text.back() != ' ') text += ' ';
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// By name in lower case; the values of one name keep their order.
std::vector<Header> canonical_headers(const std::vector<Header>& headers) {
  std::vector<Header> merged;
  for (const Header& header : headers) {
    std::string name = lowered(header.name);
    const auto same = std::ranges::find(merged, name, &Header::name);
    if (same == merged.end()) {
      merged.push_back({std::move(name), folded(header.value)});
    } else {
      same->value.append(",").append(folded(header.value));
    }
  }
  std::ranges::sort(merged, {}, &Header::name);
  return merged;
}

std::string signed_names(const std::vector<Header>& canonical) {
  std::string text;
  for (const Header& header : canonical) {
    if (!text.empty()) text += ';';
    text += header.name;
  }
  return text;
}

std::string canonical(const Request& request, const std::vector<Header>& headers,
                      const Scope& scope, std::string_view body_hash) {
  std::string text = joined({request.method, "\n", canonical_path(request.path, scope), "\n",
                             canonical_query(request.query), "\n"});
  for (const Header& header : headers) {
    text.append(header.name).append(":").append(header.value).append("\n");
  }
  return text.append("\n").append(signed_names(headers)).append("\n").append(body_hash);
}

std::string digits(unsigned value, std::size_t width) {
  std::string text(width, '0');
  for (std::size_t i = width; i > 0; --i, value /= 10) {
    text[i - 1] = static_cast<char>('0' + value % 10);
  }
  return text;
}

// 20150830T123600Z
std::string basic_format(Time now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(now - day));
  return joined({digits(static_cast<unsigned>(static_cast<int>(date.year())), 4),
                 digits(static_cast<unsigned>(date.month()), 2),
                 digits(static_cast<unsigned>(date.day()), 2), "T",
                 digits(static_cast<unsigned>(clock.hours().count()), 2),
                 digits(static_cast<unsigned>(clock.minutes().count()), 2),
                 digits(static_cast<unsigned>(clock.seconds().count()), 2), "Z"});
}

std::string signing_key(const Keys& keys, std::string_view day, const Scope& scope) {
  const std::string secret = joined({"AWS4", keys.secret_access_key});
  std::string key = hmac_sha256(secret, day);
  key = hmac_sha256(key, scope.region);
  key = hmac_sha256(key, scope.service);
  return hmac_sha256(key, "aws4_request");
}

}  // namespace

std::string canonical_request(const Request& request, const Scope& scope) {
  return canonical(request, canonical_headers(request.headers), scope, sha256_hex(request.body));
}

std::vector<Header> sign(const Request& request, std::string_view host, const Keys& keys,
                         const Scope& scope, Time now) {
  const std::string time = basic_format(now);
  const std::string day = time.substr(0, 8);
  const std::string body_hash = sha256_hex(request.body);
  std::vector<Header> added = {{"X-Amz-Date", time}};
  if (!keys.session_token.empty()) added.push_back({"X-Amz-Security-Token", keys.session_token});
  if (scope.service == "s3") added.push_back({"X-Amz-Content-Sha256", body_hash});

  std::vector<Header> all = request.headers;
  all.push_back({"Host", std::string(host)});
  all.insert(all.end(), added.begin(), added.end());
  all = canonical_headers(all);
  const std::string credential_scope =
      joined({day, "/", scope.region, "/", scope.service, "/aws4_request"});
  const std::string to_sign = joined({kAlgorithm, "\n", time, "\n", credential_scope, "\n",
                                      sha256_hex(canonical(request, all, scope, body_hash))});
  added.push_back({"Authorization",
                   joined({kAlgorithm, " Credential=", keys.access_key_id, "/", credential_scope,
                           ", SignedHeaders=", signed_names(all), ", Signature=",
                           hex_encode(hmac_sha256(signing_key(keys, day, scope), to_sign))})});
  return added;
}

}  // namespace once::aws
