// The binary from outside: what it prints where, and what it exits with.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "testing/temp_dir.h"

namespace once::cli {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs lines of the shell in a directory of its own, where `once` is our binary and its store is a
// directory, with nothing else in the environment.
class Cli : public ::testing::Test {
 protected:
  std::filesystem::path store() const { return dir_.path() / "store"; }
  const std::filesystem::path& dir() const { return dir_.path(); }

  Outcome shell(const std::string& script) const {
    const testing::TempDir files;
    const std::filesystem::path program = files.path() / "script";
    std::ofstream(program) << script << '\n';
    const auto out = files.path() / "out";
    const auto err = files.path() / "err";
    const std::filesystem::path bin = std::filesystem::path(ONCE_BINARY).parent_path();
    const std::string line = "cd '" + dir().string() + "' && env -i PATH='" + bin.string() +
                             ":/usr/bin:/bin' HOME='" + dir().string() + "' ONCE_STORE='" +
                             store().string() + "' sh '" + program.string() + "' >'" +
                             out.string() + "' 2>'" + err.string() + "'";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out), content_of(err)};
  }
  Outcome once(const std::string& arguments) const { return shell("once " + arguments); }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(dir() / name) << content;
  }

 private:
  testing::TempDir dir_;
};

}  // namespace once::cli
