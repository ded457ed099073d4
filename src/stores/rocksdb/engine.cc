#include "stores/rocksdb/engine.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <memory>
#include <string>
#include <string_view>

#include "kernel/format.h"

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

// Counters only: times and histograms would cost every read a look at the clock.
void count_reads(rocksdb::Options& engine) {
  engine.statistics = rocksdb::CreateDBStatistics();
  engine.statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
}

std::string meta_key(std::string_view name) { return format::kMetaTag + std::string(name); }

const std::string kFormatKey = meta_key("format");
const std::string kTimeKey = meta_key("time");
constexpr std::uint32_t kFormatWithoutCommitLog = 1;

Result<bool> is_empty(rocksdb::DB& db) {
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator({}));
  at->SeekToFirst();
  if (!at->status().ok()) return std::unexpected(error_of(at->status(), "cannot read the store"));
  return !at->Valid();
}

Result<void> write_format(rocksdb::DB& db) {
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const rocksdb::Status status =
      db.Put(synced, kFormatKey, format::encode_format_number(kFormatNumber));
  if (!status.ok()) return std::unexpected(error_of(status, "cannot begin the store"));
  return {};
}

// A database without the record is ours only if an opening was cut short before the first write.
Result<void> begin_format(rocksdb::DB& db) {
  const Result<bool> empty = is_empty(db);
  if (!empty) return std::unexpected(empty.error());
  if (!*empty) {
    return failure(ErrorCode::invalid,
                   "holds a RocksDB database of something else: " + db.GetName());
  }
  return write_format(db);
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
  count_reads(engine);
  return engine;
}

Result<void> settle_format(rocksdb::DB& db) {
  std::string bytes;
  const rocksdb::Status status = db.Get({}, kFormatKey, &bytes);
  if (status.IsNotFound()) return begin_format(db);
  if (!status.ok()) return std::unexpected(error_of(status, "cannot read the store's format"));
  const Result<std::uint32_t> number = format::decode_format_number(bytes);
  if (!number) return std::unexpected(number.error());
  if (*number == kFormatNumber) return {};
  if (*number == kFormatWithoutCommitLog) return write_format(db);
  return failure(ErrorCode::unsupported, "written by another version of Once: format " +
                                             std::to_string(*number) + ", and this program knows " +
                                             std::to_string(kFormatNumber) + ": " + db.GetName());
}

Result<Time> recorded_time(rocksdb::DB& db) {
  std::string bytes;
  const rocksdb::Status status = db.Get({}, kTimeKey, &bytes);
  if (status.IsNotFound()) return Time::min();
  if (!status.ok()) return std::unexpected(error_of(status, "cannot read the store's time"));
  const Result<format::ItemView> record = format::decode_item(kTimeKey, bytes);
  if (!record) return std::unexpected(record.error());
  return Time(Duration(record->number.value_or(0)));
}

void record_time(Time now, rocksdb::WriteBatch& batch) {
  std::string bytes;
  format::encode_item(kTimeKey, {.number = now.time_since_epoch().count(), .version = {1}}, bytes);
  batch.Put(kTimeKey, bytes);
}

}  // namespace once
