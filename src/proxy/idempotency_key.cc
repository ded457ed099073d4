#include "proxy/idempotency_key.h"

#include <algorithm>

#include "base/digest.h"
#include "base/encoding.h"
#include "proxy/headers.h"

namespace once::proxy {
namespace {

constexpr std::string_view kHeader = "Idempotency-Key";
constexpr std::size_t kScopeDigits = 32;  // 128 bits.

std::unexpected<Error> wrong(std::string_view what) {
  std::string message(kHeader);
  return failure(ErrorCode::invalid, message.append(" ").append(what));
}

// The text between the quotes, with \" and \\ for " and \.
std::optional<std::string> unquoted(std::string_view text) {
  if (text.size() < 2 || !text.ends_with('"')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return std::nullopt;
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || (text[i] != '"' && text[i] != '\\')) return std::nullopt;
    }
    out += text[i];
  }
  return out;
}

void append_fields(std::string& scope, const api::Headers& headers, std::string_view wanted) {
  for (const auto& [name, value] : headers.fields()) {
    if (!same_name(name, wanted)) continue;
    append_part(scope, wanted);
    append_part(scope, value);
  }
}

}  // namespace

Result<std::optional<std::string>> key_of(const api::Headers& headers) {
  const auto given = headers.find(kHeader);
  if (!given) return std::nullopt;
  if (headers.count(kHeader) > 1) return wrong("stands there twice");
  std::string key(*given);
  if (key.starts_with('"')) {
    std::optional<std::string> inner = unquoted(key);
    if (!inner) return wrong("is not a string in quotes");
    key = std::move(*inner);
  }
  if (key.empty()) return wrong("is empty");
  if (key.size() > kMaxKey) return wrong("has more than 255 characters");
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::ranges::all_of(key, printable)) return wrong("has other than printable ASCII");
  return key;
}

std::string claim_name(const api::Request& request, std::string_view key,
                       std::span<const std::string> identity_headers) {
  std::string scope;
  for (const auto& [name, value] : request.headers.fields()) {
    if (same_name(name, "Authorization")) append_part(scope, value);
  }
  append_part(scope, request.method);
  append_part(scope, request.target);
  // Nothing if there are none: what was stored before they counted is found again.
  std::string others;
  append_fields(others, request.headers, "cookie");
  append_fields(others, request.headers, "x-api-key");
  for (const std::string& name : identity_headers) append_fields(others, request.headers, name);
  if (!others.empty()) append_part(scope, others);
  std::string name = "proxy/";
  return name.append(sha256_hex(scope), 0, kScopeDigits).append("/").append(key);
}

}  // namespace once::proxy
