// JSON that can be changed in place, for patches.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"

namespace once::wire {

using JsonValue = nlohmann::json;

// Accepts what parse_json() accepts: no number is rounded, nothing is nested too deep.
Result<JsonValue> parse_value(std::string_view text);
std::string to_line(const JsonValue& value);

// Compares numbers by value, and objects in any order of their members.
bool same_value(const JsonValue& a, const JsonValue& b);

// The number of values, itself included; about how many bytes they take; and the depth of nesting,
// itself included.
struct Extent {
  std::size_t values = 1;
  std::size_t bytes = 0;
  std::size_t depth = 0;
};
Extent extent_of(const JsonValue& value);

// The steps of a JSON pointer (RFC 6901). Empty if it is invalid.
using Pointer = std::vector<std::string>;
std::optional<Pointer> parse_pointer(std::string_view text);

// An index of an array; empty if it is invalid or above `limit`.
std::optional<std::size_t> parse_index(std::string_view step, std::size_t limit);

// The value that the pointer names, or null.
JsonValue* find_value(JsonValue& root, std::span<const std::string> pointer);

}  // namespace once::wire
