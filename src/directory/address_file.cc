#include "directory/address_file.h"

#include <fstream>

namespace once::directory {
namespace {

std::filesystem::path file_in(const std::filesystem::path& directory) {
  return directory / "server";
}

}  // namespace

Result<AddressFile> AddressFile::write(const std::filesystem::path& directory,
                                       const ServerAddress& address) {
  const std::filesystem::path path = file_in(directory);
  const std::filesystem::path fresh = path.string() + ".new";
  std::error_code error;
  {
    std::ofstream out(fresh, std::ios::trunc);
    out << address.url << '\n' << address.instance << '\n';
    out.flush();
    if (!out) return failure(ErrorCode::unavailable, "cannot write " + fresh.string());
  }
  std::filesystem::rename(fresh, path, error);  // Readers see the whole file or none.
  if (error) return failure(ErrorCode::unavailable, "cannot write " + path.string());
  return AddressFile(path);
}

AddressFile::~AddressFile() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

std::optional<ServerAddress> AddressFile::read(const std::filesystem::path& directory) {
  std::ifstream in(file_in(directory));
  ServerAddress address;
  if (!std::getline(in, address.url) || !std::getline(in, address.instance)) return std::nullopt;
  return address;
}

}  // namespace once::directory
