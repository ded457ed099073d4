// A real server in a process of its own, on loopback, that does not outlive the test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace once::testing {

// A loopback port that is free now. Nobody keeps it free: try another if it is taken meanwhile.
std::uint16_t free_port();

// Whether something answers HTTP on that port.
bool answers_http(std::uint16_t port);

// Whether a program of that name is found by PATH.
bool installed(const std::string& program);

// What a command of the shell prints, without the line breaks at its end.
std::string output_of(const std::string& command);

// The directory into which scripts/install-servers puts servers.
std::filesystem::path servers_directory();

class Daemon {
 public:
  // Runs `program` (found by PATH) in `directory`, with what it prints in `directory`/log. It is
  // killed when the thread that started it ends, however that ends.
  Daemon(const std::string& program, const std::vector<std::string>& arguments,
         std::filesystem::path directory);
  ~Daemon() { kill(); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  pid_t pid() const { return pid_; }
  bool alive();
  void kill();  // -9, and waits for its end.

  // Waits until it prints that; false if it ends without, or does not within two minutes.
  bool says(const std::string& text);

  // What it printed, for a message about it.
  std::string log() const;

 private:
  const std::filesystem::path directory_;
  std::size_t began_ = 0;  // Where its part of the log begins.
  pid_t pid_ = 0;
};

}  // namespace once::testing
