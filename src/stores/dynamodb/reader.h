// get, scan and list. All of them read what every commit answered before has left.
#pragma once

#include <span>

#include "aws/pause.h"
#include "once/store.h"
#include "stores/dynamodb/transport.h"

namespace once::dynamodb {

// The sort of what Once keeps about the table itself; no item has it.
inline constexpr std::int64_t kOwnSort = -1;

struct ReadContext {
  const std::string& table;
  Transport& transport;
  Time now;  // By which items expire.
  aws::Deadline deadline;
};

// What DynamoDB leaves unprocessed is asked for again after a pause.
Result<std::vector<std::optional<Item>>> read_items(const ReadContext& context,
                                                    std::span<const Key> keys, aws::Pauses pauses);
Result<ScanPage> read_scan(const ReadContext& context, const ScanRequest& request);
Result<ListPage> read_list(const ReadContext& context, const ListRequest& request);

}  // namespace once::dynamodb
