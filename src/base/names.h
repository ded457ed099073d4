// What may be a name, in a request and in a store alike.
#pragma once

#include <string_view>

#include "once/error.h"

namespace once::keys {

// 1 to 512 bytes of UTF-8 without control characters.
Result<void> check_name(std::string_view name);

// The beginning of a name: 0 to 512 bytes of the same.
Result<void> check_prefix(std::string_view prefix);

// 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'.
Result<void> check_namespace(std::string_view name_space);

}  // namespace once::keys
