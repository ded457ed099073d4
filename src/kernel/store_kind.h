// What a store's folder tells the rest of the program: kind.cc there defines NAME_kind(), and
// once_store(NAME) of the build puts it into the table of open/store_kinds.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/address.h"
#include "kernel/engine_numbers.h"
#include "kernel/objects.h"
#include "once/home_watch.h"
#include "once/open_options.h"
#include "once/store.h"

namespace once {

struct StoreKind {
  std::string_view scheme;        // Its name, too: "redis".
  std::string_view other_scheme;  // The same over TLS: "rediss". Empty if it has none.
  std::string_view example;       // An address, for `once help`.
  std::string_view description;   // One line, for `once version`.

  bool is_server = false;  // Its data may change behind a process that has it open.

  Result<std::unique_ptr<Store>> (*open)(const Address& address, const OpenOptions& options);

  // What only some stores have; null otherwise.
  // `role`, unless empty, may use the table afterwards.
  Result<void> (*create_table)(const Address& address, const std::string& role) = nullptr;
  Result<std::string> (*table_sql)(const Address& address, const std::string& role) = nullptr;
  Result<std::string> (*check_table)(const Address& address) = nullptr;
  Result<void> (*checkpoint)(Store& store, const std::filesystem::path& to) = nullptr;
  Result<void> (*check_writable)(Store& store) = nullptr;
  Result<void> (*verify)(Store& store) = nullptr;                // Every checksum of the engine.
  std::vector<EngineNumber> (*numbers)(Store& store) = nullptr;  // Empty: another kind of store.
  Result<std::unique_ptr<Objects>> (*objects)(const Address& address) = nullptr;
  std::unique_ptr<HomeWatch> (*watch_homes)(const Address& address) = nullptr;
};

// For kind.cc of a store on a server: sets `timeout` (in seconds) or `connections`, 1 to 1000 each.
// False for anything else.
template <class Options>
bool set_server_option(Options& options, std::string_view name, std::string_view value) {
  const std::int64_t count = small_count(value);
  if (count > 0 && name == "timeout") {
    options.timeout = std::chrono::seconds(count);
  } else if (count > 0 && name == "connections") {
    options.connections = static_cast<std::size_t>(count);
  } else {
    return false;
  }
  return true;
}

}  // namespace once
