#include "base/json.h"

#include <algorithm>

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

}  // namespace once
