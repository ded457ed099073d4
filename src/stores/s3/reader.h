// get, scan and list. All of them read what every commit answered before has left.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "aws/pause.h"
#include "once/store.h"
#include "stores/s3/bucket.h"
#include "stores/s3/hints.h"
#include "stores/s3/reply.h"

namespace once::s3 {

struct ReadContext {
  Bucket& bucket;
  Hints& hints;
  Time now;  // By which items expire.
  aws::Deadline deadline;
  StoreOperation operation = StoreOperation::other;  // What its requests are counted as.
};

// All in flight together; what is not answered is asked for again after a pause.
Result<std::vector<Found>> read_objects(const ReadContext& context,
                                        std::span<const std::string> names, aws::Pauses& pauses);

Result<std::vector<std::optional<Item>>> read_items(const ReadContext& context,
                                                    std::span<const Key> keys, aws::Pauses pauses);

// Downwards only, as the names are listed: one list and a GET for each item.
Result<ScanPage> read_scan(const ReadContext& context, const ScanRequest& request,
                           aws::Pauses pauses);

Result<ListPage> read_list(const ReadContext& context, const ListRequest& request,
                           aws::Pauses pauses);

}  // namespace once::s3
