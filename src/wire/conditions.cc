#include "wire/conditions.h"

#include <algorithm>

#include "primitives/keys.h"

namespace once::wire {
namespace {

constexpr std::size_t kEtagDigits = 16;
constexpr std::size_t kMaxIdempotencyKey = 255;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

bool is_ours(std::string_view etag) {
  return etag.size() == kEtagDigits &&
         etag.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Takes the first ETag off a list. Nothing if the list does not begin with one.
std::optional<std::string> take_etag(std::string_view& text) {
  const bool weak = text.starts_with("W/");
  const std::string_view bare = weak ? text.substr(2) : text;
  if (!bare.starts_with('"')) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view one = trimmed(text.substr(0, end));
    text.remove_prefix(end);
    return is_ours(one) ? std::optional(std::string(one)) : std::nullopt;
  }
  const std::size_t end = bare.find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = bare.substr(1, end - 1);
  const std::string_view whole = text.substr(0, text.size() - bare.size() + end + 1);
  text.remove_prefix(whole.size());
  return std::string(weak ? whole : inside);
}

// Members of a list are separated by commas.
bool take_comma(std::string_view& text) {
  text = trimmed(text);
  if (text.empty()) return true;
  if (!text.starts_with(',')) return false;
  text = trimmed(text.substr(1));
  return true;
}

}  // namespace

Result<std::optional<Etags>> etags_in(const Headers& headers, std::string_view name) {
  const std::optional<std::string_view> value = headers.find(name);
  if (!value) return std::nullopt;
  std::string_view text = trimmed(*value);
  Etags etags{.any = text == "*"};
  if (etags.any) return etags;
  while (!text.empty()) {
    std::optional<std::string> etag = take_etag(text);
    if (!etag || !take_comma(text)) break;
    etags.list.push_back(std::move(*etag));
    if (text.empty()) return etags;
  }
  return failure(ErrorCode::invalid,
                 std::string(name) + " has no ETag such as \"0123456789abcdef\"");
}

Result<std::optional<std::string>> if_match_in(const Headers& headers) {
  Result<std::optional<Etags>> etags = etags_in(headers, "If-Match");
  if (!etags) return std::unexpected(std::move(etags.error()));
  if (!*etags) return std::nullopt;
  if ((*etags)->list.size() != 1) {
    return failure(ErrorCode::invalid, "If-Match takes the one ETag of what is to be changed");
  }
  return std::move((*etags)->list.front());
}

bool matches_weakly(const Etags& etags, std::string_view etag) {
  return etags.any || std::ranges::any_of(etags.list, [&](std::string_view one) {
           if (one.starts_with("W/")) one.remove_prefix(2);
           return unquoted(one) == etag;
         });
}

bool is_content_type(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
  });
}

std::string quoted_etag(std::string_view etag) { return '"' + std::string(etag) + '"'; }

std::string_view unquoted(std::string_view text) {
  const bool has_quotes = text.size() >= 2 && text.starts_with('"') && text.ends_with('"');
  return has_quotes ? text.substr(1, text.size() - 2) : text;
}

Result<std::string> idempotency_key(const Headers& headers) {
  const std::optional<std::string_view> value = headers.find("Idempotency-Key");
  if (!value) return "";
  const std::string_view key = unquoted(trimmed(*value));
  if (key.size() <= kMaxIdempotencyKey && keys::check_name(key)) return std::string(key);
  return failure(ErrorCode::invalid, "an Idempotency-Key has 1 to 255 characters");
}

}  // namespace once::wire
