// Opening a store by its address.
//
//   memory:          in this process, forgotten with it
//   rocksdb:/dir     a directory on this machine, owned by one process at a time
//   /dir, ./dir      the same
//
// `rocksdb:/dir?durability=relaxed` syncs once a second instead of before every answer.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "once/once.h"

namespace once {

struct OpenOptions {
  // How long to wait for another process that has the directory of an embedded store open.
  Duration wait_for_turn = Duration::zero();

  // How often an embedded store removes expired items by itself; zero leaves it to sweep().
  Duration sweep_every = std::chrono::minutes(5);
};

// `invalid`: not an address, or an option that does not exist. `unsupported`: a store that this
// build has not. Otherwise as the store's own opening.
Result<std::unique_ptr<Store>> open_store(std::string_view address,
                                          const OpenOptions& options = {});

// Where an embedded store keeps its data; nothing for an address of any other kind.
std::optional<std::filesystem::path> directory_of(std::string_view address);

// Makes the new directory `to` a copy of an embedded store as it stands at one moment, while others
// read and write. `unsupported`: the store is of another kind.
Result<void> checkpoint(Store& store, const std::filesystem::path& to);

Result<Once> open(std::string_view address, std::string name_space = "default");

}  // namespace once
