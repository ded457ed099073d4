#include "wire/json_value.h"

#include <algorithm>

#include "wire/json.h"
#include "wire/text.h"

namespace once::wire {
namespace {

// Keeps all 64-bit integers and all doubles exactly.
long double exact(const JsonValue& number) {
  if (number.is_number_unsigned()) {
    return static_cast<long double>(number.get<std::uint64_t>());
  }
  if (number.is_number_integer()) return static_cast<long double>(number.get<std::int64_t>());
  return number.get<double>();
}

// ~1 is a slash and ~0 a tilde.
std::optional<std::string> unescaped(std::string_view step) {
  std::string out;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      out += step[i];
      continue;
    }
    const char code = ++i < step.size() ? step[i] : '\0';
    if (code != '0' && code != '1') return std::nullopt;
    out += code == '0' ? '~' : '/';
  }
  return out;
}

}  // namespace

Result<JsonValue> parse_value(std::string_view text) {
  const Result<Json> sound = parse_json(text);
  if (!sound) return std::unexpected(sound.error());
  JsonValue value = JsonValue::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return failure(ErrorCode::invalid, "the JSON is not JSON");
  return value;
}

std::string to_line(const JsonValue& value) {
  return value.dump(-1, ' ', false, JsonValue::error_handler_t::replace);
}

bool same_value(const JsonValue& a, const JsonValue& b) {
  if (a.is_number() && b.is_number()) return exact(a) == exact(b);
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), same_value);
  if (!a.is_object()) return a == b;
  for (const auto& [name, value] : a.items()) {
    const auto other = b.find(name);
    if (other == b.end() || !same_value(value, *other)) return false;
  }
  return true;
}

Extent extent_of(const JsonValue& value) {
  Extent all{.bytes = sizeof value};
  if (value.is_string()) all.bytes += value.get_ref<const std::string&>().size();
  if (!value.is_structured()) return all;
  all.depth = 1;
  for (const auto& [name, inner] : value.items()) {
    const Extent one = extent_of(inner);
    all.values += one.values;
    all.bytes += one.bytes + name.size();
    all.depth = std::max(all.depth, one.depth + 1);
  }
  return all;
}

std::optional<Pointer> parse_pointer(std::string_view text) {
  Pointer pointer;
  while (!text.empty()) {
    if (!text.starts_with('/')) return std::nullopt;
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find('/'), text.size());
    std::optional<std::string> step = unescaped(text.substr(0, end));
    if (!step) return std::nullopt;
    pointer.push_back(std::move(*step));
    text.remove_prefix(end);
  }
  return pointer;
}

std::optional<std::size_t> parse_index(std::string_view step, std::size_t limit) {
  if (step.empty() || (step.size() > 1 && step.starts_with('0'))) return std::nullopt;
  if (step.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> index = parse_integer(step);
  if (!index || static_cast<std::uint64_t>(*index) > limit) return std::nullopt;
  return static_cast<std::size_t>(*index);
}

JsonValue* find_value(JsonValue& root, std::span<const std::string> pointer) {
  JsonValue* at = &root;
  for (const std::string& step : pointer) {
    if (at->is_object()) {
      const auto member = at->find(step);
      if (member == at->end()) return nullptr;
      at = &*member;
    } else if (at->is_array() && !at->empty()) {
      const auto index = parse_index(step, at->size() - 1);
      if (!index) return nullptr;
      at = &(*at)[*index];
    } else {
      return nullptr;
    }
  }
  return at;
}

}  // namespace once::wire
