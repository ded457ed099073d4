// RocksDB's options for many small items, whose guards mostly read keys that are absent.
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
