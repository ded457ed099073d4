// get, scan and list.
#pragma once

#include <span>

#include "once/store.h"
#include "stores/postgres/pool.h"
#include "stores/postgres/server_time.h"

namespace once::postgres {

struct CallContext {
  Pool& pool;
  ServerTime& time;
  Deadline deadline;
};

// One statement that changes nothing, or nothing that anyone waits for. Learns the time from
// `time_column` of its first row.
Result<Rows> ask(const CallContext& context, const Statement& statement, StoreOperation operation,
                 std::size_t time_column = 2);

Result<std::vector<std::optional<Item>>> read_items(const CallContext& context,
                                                    std::span<const Key> keys);
Result<ScanPage> read_scan(const CallContext& context, const ScanRequest& request);
Result<ListPage> read_list(const CallContext& context, const ListRequest& request);

}  // namespace once::postgres
