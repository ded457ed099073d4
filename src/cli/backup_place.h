// Where backups are: a directory that has a directory for each, or a prefix of a bucket.
//
// A backup is files and a manifest, which names each file with its size and SHA-256 and is written
// last. What has no manifest is not whole, and counts for nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"

namespace once::cli {

struct BackupFile {
  std::string name;
  std::uint64_t size = 0;
  std::string sha256;  // Hex.

  friend bool operator==(const BackupFile&, const BackupFile&) = default;
};

struct Manifest {
  std::string made_at;
  std::string version;  // Of the program that made it.
  std::vector<BackupFile> files;

  std::uint64_t bytes() const;
};

std::string encode(const Manifest& manifest);

// `corrupt` for what is none, or was changed.
Result<Manifest> decode_manifest(std::string_view text);

// Told of bytes as they are read or written.
using OnBytes = std::function<void(std::uint64_t bytes)>;

class BackupPlace {
 public:
  // `where`: a directory, or s3://…; nothing is looked for yet.
  static Result<std::unique_ptr<BackupPlace>> open(const std::string& where);
  virtual ~BackupPlace() = default;

  // The whole ones, oldest first. One that is itself a backup has that one, named "".
  virtual Result<std::vector<std::string>> names() = 0;

  virtual Result<Manifest> manifest(const std::string& backup) = 0;

  // Copies a file into a backup that is not whole yet.
  virtual Result<BackupFile> put(const std::string& backup, const std::filesystem::path& from,
                                 const OnBytes& on_bytes) = 0;
  virtual Result<void> finish(const std::string& backup, const Manifest& manifest) = 0;

  // Copies a file out of a backup, or only reads it if `to` is empty. `corrupt` if it is not what
  // the manifest says, or is missing.
  virtual Result<void> get(const std::string& backup, const BackupFile& file,
                           const std::filesystem::path& to, const OnBytes& on_bytes) = 0;

  virtual Result<void> remove(const std::string& backup) = 0;

  // Removes what was left by backups that began before `name` would have, and never became whole.
  virtual Result<void> remove_unfinished(const std::string& name) = 0;
};

}  // namespace once::cli
