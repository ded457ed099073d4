// How RocksDB is set up for many small items, guarded by reads of keys that are mostly absent.
#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include "once/rocksdb_store.h"

namespace once {

// `env` and `filter` must outlive the database.
rocksdb::Options engine_options(const RocksDbOptions& options, rocksdb::Env& env,
                                const rocksdb::CompactionFilter& filter);

}  // namespace once
