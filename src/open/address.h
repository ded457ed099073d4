// A store's address in its parts: `scheme:place?name=value&name=value`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "once/error.h"

namespace once {

struct Address {
  std::string scheme;
  std::string place;
  std::string options;
};

// One without a scheme is a directory: "rocksdb".
Address parse_address(std::string_view text);

// Nothing if a percent sign is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

// By name, values percent-decoded. `invalid` for what is no list of options, or names one twice.
Result<std::map<std::string, std::string>> options_in(std::string_view text);

}  // namespace once
