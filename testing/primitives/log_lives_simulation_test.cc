// Logs under the simulator that are closed, removed and begun again while the numbers of their
// lives end (docs/decisions/0041-life-of-a-log.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "once/blocking_driver.h"
#include "primitives/log_stream.h"
#include "primitives/log_tidy.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

// No write is on its way for longer than anyone believes in an old end.
constexpr SimulationOptions kManyWrites{.latest_landing = 10min};
constexpr SimulationOptions kOneWrite{.writes_per_commit = 1, .latest_landing = 10min};

class NumberWorld {
 public:
  explicit NumberWorld(Simulation& simulation) : simulation_(simulation) {}

  void add_appender(const std::string& name) {
    left_[name] = 12;
    simulation_.add_client(name, [=, this] { return append_often(name); });
  }

  // Does not make the number last before it begins a log.
  void add_careless_appender(const std::string& name) {
    left_[name] = 12;
    simulation_.add_client(name, [=, this] { return append_carelessly(name); });
  }

  void add_remover(const std::string& name) {
    left_[name] = 8;
    simulation_.add_client(name, [=, this] { return remove_often(name); });
  }

  void add_reader() {
    left_["reader"] = 30;
    simulation_.add_client("reader", [this] { return read_often(); });
  }

  void add_tidier() {
    left_["tidier"] = 6;
    simulation_.add_client("tidier", [this] { return tidy_often(); });
  }

  // Empty if every index was given once, no event was lost but by a removal, and nothing is left.
  std::string judge() {
    if (!simulation_.run()) return "never ends";
    if (!complaint_.empty()) return complaint_;
    const Result<LogPage> page = run(logs::read(stream_, {.limit = 1'000}));
    if (!page) return page.error().message;
    check(*page, removals_);
    if (complaint_.empty()) expect_nothing_left();
    return complaint_;
  }

 private:
  // An append that was answered.
  struct Answered {
    std::int64_t index = 0;
    int removals = 0;  // Before it was asked for.
  };

  bool once_more(const std::string& client) { return left_[client]-- > 0; }
  Time now() { return simulation_.clock().now(); }

  void complain(const std::string& what) {
    simulation_.note("COMPLAINT " + what);
    if (complaint_.empty()) complaint_ = what;
  }

  template <class T>
  void check_answer(const Result<T>& answer) {
    if (!answer && answer.error().code == ErrorCode::corrupt) complain(answer.error().message);
  }

  template <class T>
  Result<T> run(Plan<T> plan) {
    return BlockingDriver(simulation_.store(), simulation_.clock()).run(std::move(plan));
  }

  // None was under way, and none has begun since there were so many.
  bool is_quiet(int removals) const { return removing_.empty() && removals_ == removals; }

  void answered(const std::string& event, std::int64_t index, int removals) {
    if (!is_quiet(removals)) return;
    for (const auto& [other, known] : answered_) {
      if (other != event && known.removals == removals && known.index == index) {
        complain(event + " has the index of " + other);
      }
    }
    answered_[event] = {index, removals};
  }

  void check(const LogPage& page, int removals) {
    std::map<std::string, std::int64_t> found;
    std::int64_t next = 1;
    for (const LogEntry& entry : page.events) {
      if (entry.index != next++) complain("a gap");
      if (!found.emplace(entry.data, entry.index).second) complain(entry.data + " is there twice");
    }
    if (!is_quiet(removals)) return;
    for (const auto& [event, known] : answered_) {
      if (known.removals != removals) continue;
      const auto at = found.find(event);
      if (at == found.end() || at->second != known.index) complain(event + " is lost");
    }
  }

  // Often all meet when a number is about to end, or an old end has gone.
  Plan<std::monostate> wait_some() {
    const std::uint64_t drawn = co_await random_number();
    if (drawn % 4 > 0) {
      co_await pause(Duration(static_cast<std::int64_t>(drawn / 4 % 50)));
      co_return std::monostate{};
    }
    if (meeting_ <= now()) meeting_ = next_meeting(drawn / 4);
    const auto apart = Duration(static_cast<std::int64_t>(drawn / 64 % 6'000));
    co_await pause(std::max(Duration(1), meeting_ - now() + apart));
    co_return std::monostate{};
  }

  Time next_meeting(std::uint64_t drawn) {
    const auto number = simulation_.store().get(logs::life_key(stream_));
    const bool ends = number && *number && (*number)->expiry != kNever;
    const Time end = ends ? (*number)->expiry : now() + logs::kLifeKept;
    switch (drawn % 4) {
      case 0: return end - 3s;
      case 1: return end - 1h - 3s;
      case 2: return end + 3s;
      default: return now() + 1h;
    }
  }

  Plan<std::monostate> append_often(std::string name) {
    while (once_more(name)) {
      const std::string event = name + std::to_string(left_[name]);
      const bool named = left_[name] % 2 == 0;
      const int removals = removals_;
      const bool quiet = is_quiet(removals);
      for (int tries = 0; tries < 5; ++tries) {
        std::vector<LogEvent> events = {{event, std::nullopt}};
        AppendRequest request{.batch = named ? event : ""};
        Plan<AppendOutcome> append =
            logs::append(stream_, std::move(events), std::move(request), &known_[name]);
        const Result<AppendOutcome> outcome = co_await attempt(std::move(append));
        check_answer(outcome);
        const auto* made = outcome ? std::get_if<Appended>(&*outcome) : nullptr;
        if (made != nullptr && quiet) answered(event, made->first, removals);
        if (outcome || !named) break;
      }
      co_await wait_some();
    }
    co_return std::monostate{};
  }

  Plan<std::monostate> append_carelessly(std::string name) {
    while (once_more(name)) {
      const std::string event = name + std::to_string(left_[name]);
      const int removals = removals_;
      const bool quiet = is_quiet(removals);
      const Result<logs::StreamEnd> end = co_await attempt(logs::find_last(stream_));
      if (end && !end->closed) {
        const logs::LogRecord record = logs::record_of_batch("", {{event, std::nullopt}});
        Write write =
            put({logs::batch_partition(end->stream), end->next}, encode(record), absent_lasting());
        const Result<CommitOutcome> outcome = co_await attempt(commit(write));
        if (outcome && committed(*outcome) && quiet) answered(event, end->next, removals);
      }
      co_await wait_some();
    }
    co_return std::monostate{};
  }

  Plan<std::monostate> remove_often(std::string name) {
    removing_.erase(name);  // After a crash.
    while (once_more(name)) {
      ++removals_;
      removing_.insert(name);
      const Result<std::optional<LogEnds>> closed =
          co_await attempt(logs::close(stream_, std::nullopt));
      check_answer(closed);
      const Result<LogRemoval> removed = co_await attempt(logs::remove(stream_));
      check_answer(removed);
      removing_.erase(name);
      co_await wait_some();
    }
    co_return std::monostate{};
  }

  Plan<std::monostate> read_often() {
    while (once_more("reader")) {
      const int removals = removals_;
      const bool quiet = is_quiet(removals);
      Plan<LogPage> read = logs::read(stream_, {.limit = 1'000});
      const Result<LogPage> page = co_await attempt(std::move(read));
      check_answer(page);
      if (page && quiet) check(*page, removals);
      co_await wait_some();
    }
    co_return std::monostate{};
  }

  Plan<std::monostate> tidy_often() {
    while (once_more("tidier")) {
      const Result<bool> tidied = co_await attempt(logs::tidy(stream_));
      check_answer(tidied);
      co_await wait_some();
    }
    co_return std::monostate{};
  }

  void expect_nothing_left() {
    (void)run(logs::close(stream_, std::nullopt));
    (void)run(logs::remove(stream_));
    (void)run(logs::tidy(stream_));
    simulation_.clock().advance(logs::kLifeKept + 1min);  // Clocks differ.
    const ListPage page = simulation_.store().list({.limit = 10}).value();
    if (!page.items.empty()) complain(page.items[0].key.partition.part + " is left");
  }

  Simulation& simulation_;
  const logs::Stream stream_ = logs::stream("ns", "s");
  std::map<std::string, logs::KnownEnds> known_;
  std::map<std::string, int> left_;
  std::map<std::string, Answered> answered_;
  std::set<std::string> removing_;  // Who is at it.
  int removals_ = 0;                // Begun.
  Time meeting_;
  std::string complaint_;
};

std::string judge_numbers(Simulation& simulation) {
  NumberWorld world(simulation);
  for (const char* const name : {"a", "b", "c"}) world.add_appender(name);
  for (const char* const name : {"remover", "other remover"}) world.add_remover(name);
  world.add_reader();
  world.add_tidier();
  return world.judge();
}

TEST(LogLivesInTheSimulator, H1_NoEventIsLostAndNothingIsLeftHoweverNumbersOfLivesEnd) {
  expect_holds(400, judge_numbers, kManyWrites);
}

TEST(LogLivesInTheSimulator, H1_NumbersOfLivesEndWhereOneWriteIsAllThereIs) {
  expect_holds(400, judge_numbers, kOneWrite);
}

TEST(LogLivesInTheSimulator, AnAppenderThatDoesNotMakeTheNumberLastLosesEvents) {
  const Scenario careless = [](Simulation& simulation) {
    NumberWorld world(simulation);
    for (const char* const name : {"a", "b", "c"}) world.add_careless_appender(name);
    world.add_remover("remover");
    world.add_reader();
    return world.judge();
  };
  const auto found = find_bug(200, careless, kManyWrites);
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(found->complaint.find("is lost"), std::string::npos) << found->complaint;
}

}  // namespace
}  // namespace once::testing
