// Opening a store by its address.
//
//   memory:          in this process, forgotten with it
//   rocksdb:/dir     a directory on this machine, owned by one process at a time
//   /dir, ./dir      the same
//   dynamodb://table?region=eu-west-1
//                    a table of Amazon DynamoDB, shared by any number of processes; the options are
//                    region, endpoint (of something else that speaks like it), timeout (in seconds,
//                    10) and connections (64)
//   redis://user:password@host:port/database
//                    a Redis server or cluster, shared by any number of processes; user, password,
//                    port and database may be left out; the options are timeout (in seconds, 10)
//                    and connections (64). rediss:// is the same over TLS, with ca (a file of
//                    certificates to trust)
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

// Makes the table of a dynamodb:// address and returns when it can be used; one that is there is
// left as it is. `unsupported` for a store that needs none.
Result<void> create_table(std::string_view address);

// Lines for people about that table; an error for the first thing that is not as it should be.
Result<std::string> check_table(std::string_view address);

// Where an embedded store keeps its data; nothing for an address of any other kind.
std::optional<std::filesystem::path> directory_of(std::string_view address);

Result<Once> open(std::string_view address, std::string name_space = "default");

}  // namespace once
