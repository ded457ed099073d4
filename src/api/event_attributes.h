// The attributes of a CloudEvent, as version 1.0 of the specification has them: which there are,
// and what each may be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"

namespace once::api {

struct EventAttribute {
  std::string name;
  std::string value;
};
using EventAttributes = std::vector<EventAttribute>;

inline constexpr std::size_t kMaxAttributes = 128;

// Null if there is none of this name.
const std::string* find_attribute(const EventAttributes& attributes, std::string_view name);

// `invalid`, with the first thing that is wrong: a required attribute is missing, one is there
// twice, or one is not what the specification says.
Result<void> check_attributes(const EventAttributes& attributes);

// A URI-reference of RFC 3986, and one with a scheme.
bool is_uri_reference(std::string_view text);
bool is_absolute_uri(std::string_view text);

// `type/subtype`, with or without parameters.
bool is_media_type(std::string_view text);

}  // namespace once::api
