// The SQL of a schema: its tables, and the functions that are all that a process calls.
#pragma once

#include <string>
#include <string_view>

namespace once::postgres {

// What `meta` says of a schema that this version makes. A newer one is refused.
inline constexpr int kFormat = 1;

// Of the functions. Older ones can be used, but do less; `once table create` replaces them.
// 2 notifies processes that wait for news.
inline constexpr int kRevision = 2;

// Makes what is missing, and replaces the functions. To be run as one transaction, which may be
// repeated.
// `schema` is a checked name (is_schema_name()); `role`, unless empty, may call the functions
// afterwards.
std::string creation_sql(std::string_view schema, std::string_view role);

// 1 to 48 of a-z, 0-9 and _, and no digit first: a name that means the same quoted or not.
bool is_schema_name(std::string_view name);

// In double quotes.
std::string quoted_name(std::string_view name);

// The functions that a process calls, with commas between them.
std::string_view function_names();

}  // namespace once::postgres
