// rocksdb:DIRECTORY?durability=synced|relaxed
#include "kernel/store_kind.h"
#include "once/rocksdb_store.h"
#include "stores/rocksdb/numbers.h"

namespace once {
namespace {

Result<std::unique_ptr<Store>> open_directory(const Address& address, const OpenOptions& wanted) {
  if (address.place.empty()) return failure(ErrorCode::invalid, "a store's address is empty");
  RocksDbOptions options{.directory = address.place,
                         .wait_for_turn = wanted.wait_for_turn,
                         .sweep_every = wanted.sweep_every};
  if (address.options == "durability=relaxed") {
    options.durability = Durability::relaxed;
  } else if (!address.options.empty() && address.options != "durability=synced") {
    return failure(ErrorCode::invalid, "rocksdb has one option: durability=synced or relaxed");
  }
  return open_rocksdb(options);
}

}  // namespace

StoreKind rocksdb_kind() {
  return {.scheme = kDirectoryScheme,
          .example = "rocksdb:/dir",
          .description = "a directory on this machine, owned by one process at a time",
          .open = open_directory,
          .checkpoint = checkpoint_rocksdb,
          .check_writable = check_writable_rocksdb,
          .verify = verify_rocksdb,
          .numbers = numbers_of_rocksdb};
}

}  // namespace once
