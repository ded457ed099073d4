// Who has the directory of an embedded store, which one process at a time may open. A server that
// has it leaves its address in DIR/server: its URL and its instance, one per line. Commands that
// are given the directory ask that server. If it does not answer, or is another instance, the file
// is stale.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "once/error.h"
#include "once/store.h"

namespace once::directory {

struct ServerAddress {
  std::string url;
  std::string instance;
};

class AddressFile {
 public:
  // The destructor removes the file.
  static Result<AddressFile> write(const std::filesystem::path& directory,
                                   const ServerAddress& address);
  AddressFile(AddressFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ~AddressFile();

  // Empty if there is no such file.
  static std::optional<ServerAddress> read(const std::filesystem::path& directory);

 private:
  explicit AddressFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

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
