// Copies of an embedded store that a command works on, and whether such a copy is sound.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/invocation.h"
#include "cli/target.h"
#include "once/error.h"

namespace once::cli {

// A directory that is removed with this.
class ScratchDirectory {
 public:
  // A new one, beside `beside`.
  static Result<ScratchDirectory> make(const std::filesystem::path& beside, std::string_view what);

  // One that is there.
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();

  const std::filesystem::path& path() const { return path_; }
  void keep() { path_.clear(); }  // It is not removed.

 private:
  std::filesystem::path path_;
};

// A copy of the store as it is at one moment, made by its server or, where none runs, here. It is
// on this machine, below the store's directory. Otherwise the answer's exit code, after it was
// printed.
struct StoreCopy {
  std::optional<ScratchDirectory> directory;
  std::string made_at;
  int exit = 0;
};
StoreCopy copy_store(const Invocation& invocation, Target& target);

// What is wrong with a store that nobody else has open. It is opened for that, and so written to.
struct Soundness {
  std::uint64_t items = 0;
  std::uint64_t damaged = 0;
  std::vector<std::string> findings;

  bool sound() const { return damaged == 0; }
};
Soundness examine(const std::filesystem::path& directory);

}  // namespace once::cli
