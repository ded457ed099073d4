// JSON that can be changed in place, for patches.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"

namespace once::api {

using JsonValue = nlohmann::json;

// What parse_json() takes, and nothing else: no number is rounded to fit, nothing nests too deep.
Result<JsonValue> parse_value(std::string_view text);
std::string to_line(const JsonValue& value);

// Equal as JSON is: numbers by value, objects whatever their order.
bool same_value(const JsonValue& a, const JsonValue& b);

// How many values there are in it, itself included; about how many bytes they take; and how many
// arrays and objects are around the innermost, itself included.
struct Extent {
  std::size_t values = 1;
  std::size_t bytes = 0;
  std::size_t depth = 0;
};
Extent extent_of(const JsonValue& value);

// A JSON pointer (RFC 6901), as its steps. Nothing if it is none.
using Pointer = std::vector<std::string>;
std::optional<Pointer> parse_pointer(std::string_view text);

// What an array takes as an index; nothing if it is none, or beyond `limit`.
std::optional<std::size_t> parse_index(std::string_view step, std::size_t limit);

// Where the pointer leads to, or null.
JsonValue* find_value(JsonValue& root, std::span<const std::string> pointer);

}  // namespace once::api
