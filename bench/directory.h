// A directory for one trial's data.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "bench/harness.h"

namespace once::bench {

// Made in `below`, or in the system's temporary directory; removed with its contents.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& below) {
    const std::filesystem::path base =
        below.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(below);
    std::string name = (base / "once-bench-XXXXXX").string();
    insist(mkdtemp(name.data()) != nullptr, "making a directory in " + base.string());
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace once::bench
