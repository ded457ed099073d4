// How far a long command is, on the last line of a terminal's stderr. Shows nothing in the first
// second, and nothing at all where stderr is no terminal, or where the output itself shows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace once::cli {

class Progress {
 public:
  enum class Output : std::uint8_t { as_it_goes, at_the_end };

  // `what` is counted: "ids", "items".
  Progress(std::string what, Output output);
  ~Progress();  // Takes the line away.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t count);

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const bool visible_;
  const Clock::time_point began_;
  Clock::time_point next_;
  std::uint64_t count_ = 0;
  bool shown_ = false;
};

}  // namespace once::cli
