#include "events/attributes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include "base/uri.h"
#include "wire/text.h"

namespace once::events {
namespace {

using api::is_timestamp;
using api::is_utf8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_one_of(char c, std::string_view those) { return those.find(c) != std::string_view::npos; }

// What comes before the first of `ends`, taken from the front.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::size_t end = std::min(text.find_first_of(ends), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(end);
  return front;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_alpha(c) || is_digit(c) || is_one_of(c, "!#$%&'*+-.^_`|~");
  });
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Takes `"..."` off the front, with \ before what it stands for.
bool take_quoted(std::string_view& text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// `; name=value`, as often as it likes.
bool are_parameters(std::string_view text) {
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    if (text.front() != ';') return false;
    text = trimmed(text.substr(1));
    if (text.empty()) return true;
    if (!is_token(trimmed(take_until(text, "=;"))) || !text.starts_with('=')) return false;
    text = trimmed(text.substr(1));
    const bool sound =
        text.starts_with('"') ? take_quoted(text) : is_token(trimmed(take_until(text, ";")));
    if (!sound) return false;
  }
  return true;
}

// The character at the front of UTF-8 that is known to be sound.
char32_t take_character(std::string_view& text) {
  const auto lead = static_cast<std::uint8_t>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t value = length == 1 ? lead : lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    value = value << 6 | (static_cast<std::uint8_t>(text[i]) & 0x3fU);
  }
  text.remove_prefix(length);
  return value;
}

bool is_text(std::string_view text) {
  if (!is_utf8(text)) return false;
  while (!text.empty()) {
    const char32_t c = take_character(text);
    const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    const bool none = (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffeU) == 0xfffe;
    if (control || none) return false;
  }
  return true;
}

bool is_name(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c); });
}

bool is_not_empty(std::string_view text) { return !text.empty(); }
bool is_source(std::string_view text) { return !text.empty() && is_uri_reference(text); }
bool is_version(std::string_view text) { return text == "1.0"; }

struct Rule {
  std::string_view name;
  bool (*holds)(std::string_view value);
  std::string_view otherwise;
  bool required = false;
};
constexpr std::array kRules = {
    Rule{"specversion", is_version, "is not 1.0", true},
    Rule{"id", is_not_empty, "is empty", true},
    Rule{"source", is_source, "is not a URI-reference", true},
    Rule{"type", is_not_empty, "is empty", true},
    Rule{"time", is_timestamp, "is not a time of RFC 3339"},
    Rule{"subject", is_not_empty, "is empty"},
    Rule{"datacontenttype", is_media_type, "is not a media type"},
    Rule{"dataschema", is_absolute_uri, "is not a URI with a scheme"},
};

std::unexpected<Error> wrong(std::string_view name, std::string_view what) {
  std::string message(name);
  return failure(ErrorCode::invalid, message.append(" ").append(what));
}

// A name as it is shown to its sender.
std::string_view shown(std::string_view name) { return name.substr(0, 64); }

Result<void> check(const EventAttribute& attribute) {
  const auto& [name, value] = attribute;
  if (!is_name(name)) {
    return wrong(shown(name), "is no name of an attribute: they have a-z and 0-9");
  }
  if (name == "data") return wrong(name, "is no attribute");
  if (!is_text(value)) {
    return wrong(shown(name), "is not UTF-8 without control characters");
  }
  const auto* const rule = std::ranges::find(kRules, name, &Rule::name);
  if (rule != kRules.end() && !rule->holds(value)) return wrong(name, rule->otherwise);
  return {};
}

}  // namespace

const std::string* find_attribute(const EventAttributes& attributes, std::string_view name) {
  const auto found = std::ranges::find(attributes, name, &EventAttribute::name);
  return found != attributes.end() ? &found->value : nullptr;
}

Result<void> check_attributes(const EventAttributes& attributes) {
  if (attributes.size() > kMaxAttributes) {
    return failure(ErrorCode::invalid, "more than 128 attributes");
  }
  std::set<std::string_view> names;
  for (const EventAttribute& attribute : attributes) {
    if (!names.insert(attribute.name).second) return wrong(shown(attribute.name), "is there twice");
  }
  for (const Rule& rule : kRules) {
    if (rule.required && !names.contains(rule.name)) return wrong(rule.name, "is missing");
  }
  for (const EventAttribute& attribute : attributes) {
    if (Result<void> ok = check(attribute); !ok) return ok;
  }
  return {};
}

bool is_media_type(std::string_view text) {
  const std::string_view type = take_until(text, "/");
  if (!is_token(type) || text.empty()) return false;
  text.remove_prefix(1);
  const std::string_view subtype = trimmed(take_until(text, ";"));
  return is_token(subtype) && are_parameters(text);
}

}  // namespace once::events
