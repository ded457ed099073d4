#include "bench/harness.h"

#include <malloc.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace once::bench {
namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void explain_usage(const char* program) {
  std::fprintf(stderr, "usage: %s [--quick] [--keys N] [--directory DIR]\n", program);
  std::exit(2);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string rate_text(double per_second) {
  char text[32];
  if (per_second >= 1e6) {
    std::snprintf(text, sizeof text, "%.2f M/s", per_second / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.1f k/s", per_second / 1e3);
  }
  return text;
}

std::string verdict(double ratio, double target) {
  if (target == 0) return "";
  char text[64];
  std::snprintf(text, sizeof text, "target %.2f %s", target, ratio >= target ? "met" : "MISSED");
  return text;
}

bool is_far_below(double ratio, double target) { return ratio < target / 2; }

int& rows_far_below() {
  static int rows = 0;
  return rows;
}

// Adds up the time between each odd arrival of all threads and the next.
class Stopwatch {
 public:
  void operator()() noexcept {
    const Steady::time_point now = Steady::now();
    if (running_) total_ += now - started_;
    running_ = !running_;
    started_ = now;
  }
  double seconds() const { return std::chrono::duration<double>(total_).count(); }

 private:
  bool running_ = false;
  Steady::time_point started_;
  Steady::duration total_{};
};

struct Measured {
  double our_rate = 0;
  double their_rate = 0;
  double ratio = 0;
};

Measured measure(const Contest& contest, std::size_t rounds) {
  std::vector<double> ours;
  std::vector<double> yardstick;
  for (std::size_t round = 0; round < rounds; ++round) {
    // The one that goes first finds cold caches, so they take turns.
    if (round % 2 == 0) ours.push_back(contest.ours());
    yardstick.push_back(contest.yardstick());
    if (round % 2 == 1) ours.push_back(contest.ours());
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(yardstick[i] / ours[i]);
  const auto operations = static_cast<double>(contest.operations);
  return {.our_rate = operations / median(ours),
          .their_rate = operations / median(yardstick),
          .ratio = median(ratios)};
}

}  // namespace

Options options_from(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--quick") {
      options.quick = true;
    } else if (word == "--keys" && i + 1 < count) {
      options.keys = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--directory" && i + 1 < count) {
      options.directory = words[++i];
    } else {
      explain_usage(words[0]);
    }
  }
  return options;
}

void insist(bool held, std::string_view what) {
  if (held) return;
  std::fprintf(stderr, "failed: %.*s\n", static_cast<int>(what.size()), what.data());
  std::exit(1);
}

double seconds_of(const Work& work) {
  Stopwatch watch;
  std::barrier meet(static_cast<std::ptrdiff_t>(work.threads), [&]() noexcept { watch(); });
  const auto body = [&](std::size_t thread) {
    for (std::size_t done = 0; done < work.operations; done += work.block * work.threads) {
      const std::size_t left = (work.operations - done) / work.threads;
      work.prepare(thread, done + thread * work.block, std::min(work.block, left));
      meet.arrive_and_wait();
      work.perform(thread);
      meet.arrive_and_wait();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < work.threads; ++i) others.emplace_back(body, i);
    body(0);
  }
  return watch.seconds();
}

void print_heading(const std::string& title, const std::string& yardstick) {
  std::printf("\n%s\n%-44s %13s %13s %7s\n", title.c_str(), ("  against " + yardstick).c_str(),
              "ours", "yardstick", "ratio");
  std::fflush(stdout);
}

double run(const Contest& contest) {
  Measured measured = measure(contest, contest.rounds);
  if (is_far_below(measured.ratio, contest.target)) {
    measured = measure(contest, 3 * contest.rounds);
    if (is_far_below(measured.ratio, contest.target)) ++rows_far_below();
  }
  std::printf("%-44s %13s %13s %7.2f  %s\n", ("  " + contest.name).c_str(),
              rate_text(measured.our_rate).c_str(), rate_text(measured.their_rate).c_str(),
              measured.ratio, verdict(measured.ratio, contest.target).c_str());
  std::fflush(stdout);
  return measured.our_rate;
}

int exit_code() {
  if (rows_far_below() == 0) return 0;
  std::fprintf(stderr, "%d below half of the target\n", rows_far_below());
  return 1;
}

std::size_t allocated_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace once::bench
