// get and scan.
#pragma once

#include <span>

#include "once/store.h"
#include "stores/redis/router.h"
#include "stores/redis/server_time.h"

namespace once::redis {

struct ReadContext {
  Router& router;
  ServerTime& time;
  Deadline deadline;
};

Result<std::vector<std::optional<Item>>> read_items(const ReadContext& context,
                                                    std::span<const Key> keys);
Result<ScanPage> read_scan(const ReadContext& context, const ScanRequest& request);

// A reading has no outcome to be in doubt about: `unknown` becomes `unavailable`.
Error reading_failure(Error error);

}  // namespace once::redis
