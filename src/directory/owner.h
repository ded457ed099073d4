// Who has the directory of an embedded store, which one process at a time may open. A server that
// has it leaves its address there (address_file.h); a file whose server does not answer, or is
// another instance, is stale.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "once/store.h"

namespace once::directory {

// The URL of the server that has the directory; nothing if none has.
std::optional<std::string> running_server(const std::filesystem::path& directory);

// Opens the directory's store. While another process has it open, tries for `wait_for_turn`, and is
// `unavailable` then.
using OpenStore = std::function<Result<std::unique_ptr<Store>>(Duration wait_for_turn)>;

// A server's URL, or the store, which this process has opened.
using Owner = std::variant<std::string, std::unique_ptr<Store>>;

// The server, or this process as soon as it is its turn. Another process that has the store open,
// and is no server, is waited for until `within` is over.
Result<Owner> find_owner(const std::filesystem::path& directory, const OpenStore& open,
                         Duration within, Clock& clock = system_clock());

}  // namespace once::directory
