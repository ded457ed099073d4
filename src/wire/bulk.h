// Removals of many at once, in bounded steps: POST /v1/bulk/.../delete.
#pragma once

#include <string>
#include <string_view>

#include "once/error.h"
#include "once/listing.h"
#include "wire/message.h"

namespace once::wire {

// {"prefix","limit","cursor","dry_run"}. A prefix is required, and not empty: nobody means to
// remove everything.
struct BulkRemoval {
  Listing listing;
  BulkRun run = BulkRun::wet;
};
std::string encode(const BulkRemoval& removal);
Result<BulkRemoval> decode_bulk_removal(std::string_view body);

// {"deleted","cursor"}
Response encode(const BulkRemoved& removed);
Result<BulkRemoved> decode_bulk_removed(const Response& response);

}  // namespace once::wire
