// All reads. Expired items are skipped; an item that fails its checks ends the request as
// `corrupt`.
#pragma once

#include <rocksdb/db.h>

#include <optional>
#include <span>
#include <vector>

#include "once/store.h"

namespace once {

Result<std::vector<std::optional<Item>>> read_items(rocksdb::DB& db, std::span<const Key> keys,
                                                    Time now);

Result<ScanPage> read_scan(rocksdb::DB& db, const ScanRequest& request, Time now);

// A page ends early when its values grow large. The cursor is the encoded key it ended with.
Result<ListPage> read_list(rocksdb::DB& db, const ListRequest& request, Time now);

}  // namespace once
