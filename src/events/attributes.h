// The attributes of a CloudEvent by version 1.0 of the specification, and their valid values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"

namespace once::events {

struct EventAttribute {
  std::string name;
  std::string value;
};
using EventAttributes = std::vector<EventAttribute>;

inline constexpr std::size_t kMaxAttributes = 128;

// Null if it is missing.
const std::string* find_attribute(const EventAttributes& attributes, std::string_view name);

// `invalid` with the first error: a required attribute is missing, one is repeated, or one has a
// value that the specification does not allow.
Result<void> check_attributes(const EventAttributes& attributes);

// `type/subtype`, with or without parameters.
bool is_media_type(std::string_view text);

}  // namespace once::events
