// The embedded store: a directory on this machine, owned by one process at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "once/store.h"

namespace once {

enum class Durability : std::uint8_t {
  synced,   // An answered commit survives power loss.
  relaxed,  // Synced once a second: power loss may take the last second, a crash of the process
            // takes nothing.
};

struct RocksDbOptions {
  std::filesystem::path directory;  // Created when missing.
  Durability durability = Durability::synced;

  // How long to wait for another process that has the directory open.
  Duration wait_for_turn = Duration::zero();

  // With less room than this on the disk, commits are refused as `unavailable`.
  std::size_t keep_free_bytes = 64U << 20;

  std::size_t cache_bytes = 64U << 20;
  std::size_t memtable_bytes = 64U << 20;

  // Expired items are removed in the background this often; zero leaves it to sweep().
  Duration sweep_every = std::chrono::minutes(5);
};

// `clock` must outlive the store. `unavailable`: another process has the directory, or it cannot
// be written; the message says which. `unsupported`: written by a newer version of Once.
//
// When the engine fails in the middle of a commit, that commit is `unknown` and the store refuses
// further commits as `unavailable` until it is closed and opened again. Reading goes on, unless the
// commit was so large that the engine already had it: then it is refused in the same way.
Result<std::unique_ptr<Store>> open_rocksdb(const RocksDbOptions& options,
                                            Clock& clock = system_clock());

// Makes the new directory `to`, in one that exists, a copy of the store as it stands at one moment
// of the call; it opens as a store of its own. On the same file system most files are hard links,
// so that it costs little room until the store changes. Others may read and write meanwhile.
// `unsupported`: `store` is no embedded one. `invalid`: `to` exists.
Result<void> checkpoint_rocksdb(Store& store, const std::filesystem::path& to);

// The error that a small commit would get now: the disk is nearly full, or a write has failed.
// `unsupported`: `store` is no embedded one.
Result<void> check_writable_rocksdb(Store& store);

// Reads every file of the database and compares its checksums. `corrupt` for the first that is
// wrong. `unsupported`: `store` is no embedded one.
Result<void> verify_rocksdb(Store& store);

}  // namespace once
