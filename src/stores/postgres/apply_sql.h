// The SQL by which a prepared commit becomes part of a transaction of the caller's own.
#pragma once

#include <string_view>

namespace once::postgres {

// To be run with the schema as search_path, after its other functions.
std::string_view apply_sql();

}  // namespace once::postgres
