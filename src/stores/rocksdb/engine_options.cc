#include "stores/rocksdb/engine_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

namespace once {
namespace {

rocksdb::BlockBasedTableOptions table_options(const RocksDbOptions& options) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.whole_key_filtering = true;
  return table;
}

// RocksDB's own log has the store's format, and all commits of a store that was made before there
// was a log of commits. A crash tears at most the end of it, and both modes open such a log. They
// differ in what follows a record that fails its checksum.
//
// Synced: everything but the very last write was answered, so such a record is damage. RocksDB
// refuses to open; point-in-time recovery would silently drop all commits after it.
// (A damaged length in the log's last 32 KiB looks like a torn end to every mode.)
//
// Relaxed: power loss may leave a hole in the last second of the log and later pages behind it.
// That is within the promise, so recovery stops there.
rocksdb::WALRecoveryMode recovery_for(Durability durability) {
  return durability == Durability::synced ? rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords
                                          : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
}

void bound_logs(rocksdb::Options& engine) {
  engine.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  engine.max_log_file_size = 1U << 20;
  engine.keep_log_file_num = 2;
  engine.stats_dump_period_sec = 0;
  engine.stats_persist_period_sec = 0;
}

}  // namespace

rocksdb::Options engine_options(const RocksDbOptions& options, rocksdb::Env& env,
                                const rocksdb::CompactionFilter& filter) {
  rocksdb::Options engine;
  engine.env = &env;
  engine.create_if_missing = true;
  engine.compaction_filter = &filter;
  engine.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(options)));
  engine.compression = rocksdb::kLZ4Compression;
  engine.level_compaction_dynamic_level_bytes = true;
  engine.write_buffer_size = options.memtable_bytes;
  engine.memtable_prefix_bloom_size_ratio = 0.05;
  engine.memtable_whole_key_filtering = true;
  engine.max_background_jobs = 2;
  engine.max_open_files = 512;
  engine.paranoid_checks = true;
  engine.wal_recovery_mode = recovery_for(options.durability);
  // Writer relies on both being off: otherwise readers may see a part of a batch.
  engine.enable_pipelined_write = false;
  engine.unordered_write = false;
  // The log of commits has what the files do not have yet.
  engine.avoid_flush_during_shutdown = true;
  bound_logs(engine);
  return engine;
}

}  // namespace once
