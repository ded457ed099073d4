// The address of the server that owns a directory: DIR/server holds its URL and its instance, one
// per line. Commands that are given the directory read it, and ask the server whether it is still
// that instance.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "once/error.h"

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

}  // namespace once::directory
