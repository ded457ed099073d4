// One output of a command on its way to ours. What comes is kept and passed on, and never waited
// for: neither a reader that stalls nor one that left keeps the caller from anything else.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace once::cli {

// What was written to one of its outputs: the first part of it.
struct Captured {
  static constexpr std::size_t kMost = 64U << 10;

  std::string bytes;
  bool cut = false;  // There was more.

  void add(std::string_view more);
};

class OutputPassage {
 public:
  // `from` is closed at its end, or with this; `to` stays open.
  OutputPassage(int from, int to) : from_(from), to_(to) {}
  ~OutputPassage();
  OutputPassage(const OutputPassage&) = delete;
  OutputPassage& operator=(const OutputPassage&) = delete;

  // What to wait for, and what to do when it is there. Nothing is read while something is unsent.
  pollfd readable() const;
  pollfd writable() const;
  void read();
  void write();

  // Takes what is there already, passes on what is taken at once, and reads no more.
  void cut_off();

  bool is_done() const { return from_ < 0 && unsent_.empty(); }
  const Captured& captured() const { return captured_; }

 private:
  std::size_t take(std::size_t most);

  int from_;
  const int to_;
  std::string unsent_;
  Captured captured_;
};

}  // namespace once::cli
