// Parsed JSON. Numbers beyond 64 bits, nesting deeper than 100 and bad UTF-8 are refused.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "once/error.h"

namespace once {

// A parsed text. It and what is taken from it live until the same thread parses another.
using Json = simdjson::dom::element;
Result<Json> parse_json(std::string_view text);

// One line without spaces, as it is stored and answered.
std::string to_line(Json value);

// The same for equal values however they were written: members by name, numbers in one form.
std::string canonical_json(Json value);

}  // namespace once
