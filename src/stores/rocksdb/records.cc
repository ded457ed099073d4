#include "stores/rocksdb/records.h"

#include <memory>
#include <string>
#include <string_view>

#include "kernel/format.h"
#include "stores/rocksdb/status.h"

namespace once {
namespace {

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
