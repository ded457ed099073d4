// What a plan costs over calling the store directly.
#include <cstdio>
#include <cstdlib>

#include "bench/harness.h"
#include "once/blocking_driver.h"
#include "once/entropy.h"
#include "once/memory_store.h"
#include "once/plan.h"

namespace once::bench {
namespace {

const Key kKey{{"counters/one", ""}, 0};

Plan<std::int64_t> next_number(Key key) {
  Write one = add(std::move(key), 1);
  const CommitOutcome outcome = co_await commit(one);
  co_return *std::get<Committed>(outcome).numbers[0];
}

Result<std::int64_t> next_number_directly(Store& store, Key key) {
  Write one = add(std::move(key), 1);
  one.version = system_entropy().version();
  const Result<CommitOutcome> outcome = store.commit({&one, 1});
  if (!outcome) return std::unexpected(outcome.error());
  return *std::get<Committed>(*outcome).numbers[0];
}

template <class Next>
double count_up(std::size_t operations, const Next& next) {
  return seconds_of({.operations = operations,
                     .block = operations,
                     .prepare = [](std::size_t, std::size_t, std::size_t) {},
                     .perform =
                         [&](std::size_t) {
                           for (std::size_t i = 0; i < operations; ++i) {
                             if (!next()) std::exit(1);
                           }
                         }});
}

void run_all(const Options& options) {
  const std::size_t operations = options.quick ? 100'000 : 2'000'000;
  const auto store = open_memory();
  BlockingDriver driver(*store);
  double planned = 0;
  double direct = 0;
  print_heading("One add as a plan, through the blocking driver", "the store called directly");
  run({.name = "add on memory",
       .operations = operations,
       .rounds = 9,
       .ours =
           [&] {
             const double seconds =
                 count_up(operations, [&] { return driver.run(next_number(kKey)); });
             planned = planned == 0 ? seconds : std::min(planned, seconds);
             return seconds;
           },
       .yardstick =
           [&] {
             const double seconds =
                 count_up(operations, [&] { return next_number_directly(*store, kKey); });
             direct = direct == 0 ? seconds : std::min(direct, seconds);
             return seconds;
           }});
  const double each = 1e9 / static_cast<double>(operations);
  std::printf("  best trial: %.0f ns an operation, %.0f ns directly, %.0f ns for the plan\n",
              planned * each, direct * each, (planned - direct) * each);
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  once::bench::run_all(once::bench::options_from(count, words));
  return once::bench::exit_code();
}
