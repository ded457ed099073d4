// Where a server that owns a directory can be reached: DIR/server holds its URL and its instance, a
// line each. Commands that are given the directory read it, and ask the server whether it is still
// that instance.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "once/error.h"

namespace once::server {

struct ServerAddress {
  std::string url;
  std::string instance;
};

class AddressFile {
 public:
  // Removed when this ends.
  static Result<AddressFile> write(const std::filesystem::path& directory,
                                   const ServerAddress& address);
  AddressFile(AddressFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ~AddressFile();

  // Nothing if there is none.
  static std::optional<ServerAddress> read(const std::filesystem::path& directory);

 private:
  explicit AddressFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace once::server
