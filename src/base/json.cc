#include "base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace once {
namespace {

constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kRoom = 64 << 10;

// The parser keeps its memory from one text to the next. We grow it, because when it grows by
// itself it forgets its limit of nesting.
simdjson::error_code parse_into(Json& root, std::string_view text) {
  thread_local simdjson::dom::parser parser;
  if (parser.capacity() < std::max(text.size(), kRoom)) {
    const auto error = parser.allocate(std::max(text.size(), kRoom), kMaxDepth);
    if (error != simdjson::SUCCESS) return error;
  }
  return parser.parse(text.data(), text.size()).get(root);
}

std::string message_of(simdjson::error_code error) {
  switch (error) {
    case simdjson::UTF8_ERROR: return "not UTF-8";
    case simdjson::DEPTH_ERROR: return "nested deeper than 100";
    case simdjson::NUMBER_ERROR: return "a number that is none, or beyond 64 bits";
    case simdjson::EMPTY: return "empty";
    default: return "not JSON";
  }
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  Json root;
  const simdjson::error_code error = parse_into(root, text);
  if (error == simdjson::SUCCESS) return root;
  return failure(ErrorCode::invalid, "the JSON is " + message_of(error));
}

std::string to_line(Json value) { return simdjson::minify(value); }

namespace {

// A whole number has no fraction and no exponent; others are as short as they can be.
void append_number(std::string& out, double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: up to it, doubles are whole numbers.
  std::array<char, 32> text{};
  const bool whole = number == std::trunc(number) && std::abs(number) <= kExact;
  const auto end = whole ? std::to_chars(text.data(), text.data() + text.size(),
                                         static_cast<std::int64_t>(number))
                         : std::to_chars(text.data(), text.data() + text.size(), number);
  out.append(text.data(), end.ptr);
}

void append_canonical(std::string& out, Json value);

void append_object(std::string& out, simdjson::dom::object object) {
  std::multimap<std::string_view, Json> members;  // Members of one name stay in their order.
  for (const auto& [name, member] : object) members.emplace(name, member);
  char before = '{';
  for (const auto& [name, member] : members) {
    out += std::exchange(before, ',');
    out += std::to_string(name.size()).append(":").append(name);
    append_canonical(out, member);
  }
  out += members.empty() ? "{}" : "}";
}

void append_array(std::string& out, simdjson::dom::array array) {
  out += '[';
  for (const Json element : array) {
    append_canonical(out, element);
    out += ',';
  }
  out += ']';
}

void append_canonical(std::string& out, Json value) {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
    case Type::OBJECT: return append_object(out, value.get_object().value_unsafe());
    case Type::ARRAY: return append_array(out, value.get_array().value_unsafe());
    case Type::DOUBLE: return append_number(out, value.get_double().value_unsafe());
    default: out += to_line(value);
  }
}

}  // namespace

std::string canonical_json(Json value) {
  std::string out;
  append_canonical(out, value);
  return out;
}

}  // namespace once
