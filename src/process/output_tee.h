// One output of a command: kept, and passed on as it comes. Nothing here blocks, so a reader of
// ours that stalls or leaves does not keep the caller from anything else.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "process/descriptor.h"

namespace once::process {

// How much of an output is kept: its first bytes, or its last.
struct Keep {
  enum class Part : std::uint8_t { first, last };

  static constexpr std::size_t kUsual = 64U << 10;

  std::size_t most = kUsual;
  Part part = Part::first;
};

struct Captured {
  std::string bytes;
  bool cut = false;  // There was more.

  void add(std::string_view more, const Keep& keep = {});
};

class OutputTee {
 public:
  // `to` stays open; if it is -1, the output is kept and not passed on.
  OutputTee(Descriptor from, int to, Keep keep = {})
      : from_(std::move(from)), to_(to), keep_(keep) {}

  // What to wait for, and what to do then. Nothing is read while something is unsent.
  pollfd awaited() const;
  void advance();

  // Reads what was written so far, passes on what does not block, and reads no more.
  void cut_off();

  bool is_done() const { return !from_.is_open() && unsent_.empty(); }
  const Captured& captured() const { return captured_; }

 private:
  void write();
  std::size_t read(std::size_t most);

  Descriptor from_;
  const int to_;
  const Keep keep_;
  std::string unsent_;
  Captured captured_;
};

}  // namespace once::process
