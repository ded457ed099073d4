// The store's own records in the database: its format, and the time it last knew.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "once/error.h"
#include "once/time.h"

namespace once {

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

}  // namespace once
