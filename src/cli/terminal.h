// Output for people: aligned, coloured where a terminal shows it, and how far a long command is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/json.h"

namespace once::cli {

enum class Colour : std::uint8_t { plain, faint, red, green, yellow };

// Only where stdout is a terminal, NO_COLOR is not set and TERM is not "dumb".
std::string coloured(Colour colour, std::string_view text);

// The colour of a claim's state, and of what is like one.
Colour colour_of(std::string_view state);

// A string as it is, other JSON as JSON; control characters as \xNN, so that what is stored cannot
// play tricks on a terminal. "" for null.
std::string shown(api::Json value);
std::string shown(std::string_view text);

// A member of an object as shown(); "" if it is not there.
std::string member(api::Json object, std::string_view name);

// One line for each member, the names aligned.
void print_members(api::Json object);

// Rows below a header, the columns aligned. Nothing if there are no rows.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// How far a command is, on the last line of a terminal's stderr. Shows nothing in the first
// second, and nothing at all where stderr is no terminal, or where the output itself shows it.
class Progress {
 public:
  enum class Output : std::uint8_t { as_it_goes, at_the_end };

  // `what` is counted: "ids", "items". With `total`, a bar shows how much of it is done.
  Progress(std::string what, Output output, std::uint64_t total = 0);
  ~Progress();  // Takes the line away.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t count);

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const bool visible_;
  const std::uint64_t total_;
  const Clock::time_point began_;
  Clock::time_point next_;
  std::uint64_t count_ = 0;
  bool shown_ = false;
};

}  // namespace once::cli
