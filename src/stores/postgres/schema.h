// Making and checking the schema, for `once table`.
#pragma once

#include <string>

#include "once/postgres_store.h"

namespace once::postgres {

Result<void> create_schema(const PostgresOptions& options, const std::string& role);

// A line for each thing that is as it should be; an error names the first that is not.
Result<std::string> describe_schema(const PostgresOptions& options);

}  // namespace once::postgres
