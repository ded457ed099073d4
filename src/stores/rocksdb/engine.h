// RocksDB as this store uses it: its options, its errors, and the store's own records in it.
#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>

#include <string>
#include <string_view>

#include "once/error.h"
#include "once/rocksdb_store.h"
#include "once/time.h"

namespace once {

// Options for many small items, whose guards mostly read keys that are absent. `env` and `filter`
// must outlive the database.
rocksdb::Options engine_options(const RocksDbOptions& options, rocksdb::Env& env,
                                const rocksdb::CompactionFilter& filter);

// 1: commits are in RocksDB's own log. 2: they are in the log of commits, which a program that
// knows only format 1 would not read.
inline constexpr std::uint32_t kFormatNumber = 2;

// Writes the format into a database that is empty or has the format before, and checks it in any
// other: `unsupported` if it is newer than this program, `invalid` if the database is not a store.
// It is in RocksDB's own log, which is read before the log of commits.
Result<void> settle_format(rocksdb::DB& db);

// The latest time that was recorded; Time::min() in a new store.
Result<Time> recorded_time(rocksdb::DB& db);

void record_time(Time now, rocksdb::WriteBatch& batch);

// Translates RocksDB's errors, for calls that write nothing. Writer decides what a failed write
// means.
inline Error error_of(const rocksdb::Status& status, std::string_view doing) {
  ErrorCode code = ErrorCode::unavailable;
  if (status.IsCorruption()) code = ErrorCode::corrupt;
  if (status.IsNotSupported()) code = ErrorCode::unsupported;
  if (status.IsInvalidArgument()) code = ErrorCode::invalid;
  return {code, std::string(doing) + ": " + status.ToString()};
}

inline rocksdb::Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view_of(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace once
