// Measures ours and a yardstick side by side: short trials that take turns in one run, so that both
// meet the same machine. Rates are medians over the rounds; so is the ratio, of each round's own
// ratio, because what else the machine does changes more slowly than that.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace once::bench {

struct Options {
  bool quick = false;     // A few seconds in all, to see that it runs.
  std::size_t keys = 0;   // As the program sees fit when 0.
  std::string directory;  // For data on a disk; a temporary one when empty.
};

// Ends the process with a message about usage if it is not understood.
Options options_from(int count, char** words);

// Ends the process, saying what failed, unless it held: what is measured must also be right.
void insist(bool held, std::string_view what);

// Some number of operations in blocks: every thread prepares its block, then all perform theirs at
// once. Only performing is timed. `first` counts over all threads. A block should take much longer
// than waking a thread, or they do not perform at once.
struct Work {
  std::size_t threads = 1;
  std::size_t operations = 0;
  std::size_t block = 32'768;
  std::function<void(std::size_t thread, std::size_t first, std::size_t count)> prepare;
  std::function<void(std::size_t thread)> perform;
};
double seconds_of(const Work& work);

// One trial: sets up what it needs, and says how many seconds the operations took.
using Trial = std::function<double()>;

struct Contest {
  std::string name;
  std::size_t operations = 0;
  double target = 0;  // For ours / yardstick; none when 0.
  std::size_t rounds = 5;
  Trial ours;
  Trial yardstick;
};

void print_heading(const std::string& title, const std::string& yardstick);

// Runs it and prints one line: both rates, their ratio, the target. Answers our rate a second.
double run(const Contest& contest);

// Bytes the process holds by malloc.
std::size_t allocated_bytes();

}  // namespace once::bench
