// Measures our code and a yardstick side by side, in short trials that alternate in one run, so
// that both meet the same conditions. Rates are medians over the rounds. So is the ratio, of the
// rounds' own ratios, because the load of the machine changes more slowly than the rounds.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace once::bench {

struct Options {
  bool quick = false;     // A few seconds in all, as a smoke test.
  std::size_t keys = 0;   // 0: the program's default.
  std::string directory;  // For data on a disk; empty: a temporary one.
};

// Ends the process with a usage message if the arguments are invalid.
Options options_from(int count, char** words);

// Ends the process with a message if the condition does not hold: a measured result must be right.
void insist(bool held, std::string_view what);

// Operations in blocks: every thread prepares its block, then all perform theirs at the same time.
// Only performing is timed. `first` counts over all threads. A block should take much longer than
// waking a thread, or the threads do not overlap.
struct Work {
  std::size_t threads = 1;
  std::size_t operations = 0;
  std::size_t block = 32'768;
  std::function<void(std::size_t thread, std::size_t first, std::size_t count)> prepare;
  std::function<void(std::size_t thread)> perform;
};
double seconds_of(const Work& work);

// One trial: sets up what it needs, and returns how many seconds the operations took.
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

// Runs it and prints one line: both rates, their ratio, the target. Returns our rate per second. A
// row below half of its target is measured again, with more rounds, before that is believed.
double run(const Contest& contest);

// For the end of main(): 1 if a row of run() was below half of its target, which no noise explains;
// otherwise 0.
int exit_code();

// Bytes that the process has allocated by malloc.
std::size_t allocated_bytes();

}  // namespace once::bench
