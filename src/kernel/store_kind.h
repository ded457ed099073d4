// What a store's folder tells the rest of the program: kind.cc there defines NAME_kind(), and
// once_store(NAME) of the build puts it into the table of open/store_kinds.h.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/address.h"
#include "once/open_options.h"
#include "once/store.h"

namespace once {

struct StoreKind {
  std::string_view scheme;        // Its name, too: "redis".
  std::string_view other_scheme;  // The same over TLS: "rediss". Empty if it has none.
  std::string_view example;       // An address, for `once help`.
  std::string_view description;   // One line, for `once version`.

  Result<std::unique_ptr<Store>> (*open)(const Address& address, const OpenOptions& options);

  // What only some stores have; null otherwise.
  Result<void> (*create_table)(const Address& address) = nullptr;
  Result<std::string> (*check_table)(const Address& address) = nullptr;
  Result<void> (*checkpoint)(Store& store, const std::filesystem::path& to) = nullptr;
};

}  // namespace once
