// The table itself: its keys, the removal of expired items, and the format of what is in it.
#pragma once

#include <string>

#include "stores/dynamodb/transport.h"

namespace once::dynamodb {

// One request when all is well: the item that records the format, at a sort that no other has. It
// is written where it is missing, so that a table may be made by other tools.
Result<void> check_format(Transport& transport, const DynamoDbOptions& options);

// Paid by request, items removed by `ttl`. Returns when the table can be used.
Result<void> create_table(Transport& transport, const DynamoDbOptions& options);

// A line for each thing that is right; an error for the first that is not.
Result<std::string> describe_table(Transport& transport, const DynamoDbOptions& options);

}  // namespace once::dynamodb
