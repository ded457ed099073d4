#include <rocksdb/utilities/checkpoint.h>

#include "stores/rocksdb/rocksdb_store.h"
#include "stores/rocksdb/status.h"

namespace once {

Result<void> checkpoint_rocksdb(Store& store, const std::filesystem::path& to) {
  auto* embedded = dynamic_cast<RocksDbStore*>(&store);
  if (embedded == nullptr) return failure(ErrorCode::unsupported, "only embedded stores can");
  return embedded->checkpoint(to);
}

Result<void> RocksDbStore::checkpoint(const std::filesystem::path& to) {
  // The database writes nothing out once the log has failed, and would wait.
  if (Result<void> open = writer_.check_open(); !open) return open;
  // Of commits, the copy has only what is in the database's files: its log of commits is its own.
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(&db_, &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (status.ok()) status = checkpoint->CreateCheckpoint(to.string());
  if (!status.ok()) return std::unexpected(error_of(status, "cannot make a checkpoint"));
  return writer_.await_durable();
}

}  // namespace once
