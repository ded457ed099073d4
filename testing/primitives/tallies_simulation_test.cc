// Tallies under crashes, lost replies, late writes and clocks that disagree.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "once/blocking_driver.h"
#include "once/tallies.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kClients = 3;
constexpr int kEvents = 5;
constexpr Duration kBackoff{20};

const SimulationOptions kSingleWrite{.writes_per_commit = 1};

// Steps so long that retries happen in the next minute.
SimulationOptions crossing_windows(std::size_t writes_per_commit) {
  return {.max_step = 15s, .restart_after = 90s, .writes_per_commit = writes_per_commit};
}

Key key_of(const std::string& name) { return tallies::tally_key("sim", name); }

TallyRequest request_of(TallyShape shape, TallyInput input, int event) {
  return {.shape = std::move(shape), .input = std::move(input), .id = std::to_string(event)};
}

// Makes the request of every event. All clients get all events, as a queue redelivers them.
using Requests = std::function<TallyRequest(int event)>;

struct World {
  std::string complaint;
  std::map<int, int> merged;  // By event: how many clients were told that they were first.
  tallies::KnownTallies known;
};

// Sends each request until it has an answer.
Plan<std::monostate> deliver_all(Requests requests, World& world) {
  for (int event = 0; event < kEvents; ++event) {
    for (;;) {
      tallies::KnownTallies* const known = event % 2 == 0 ? &world.known : nullptr;
      const Result<TallyOutcome> outcome =
          co_await attempt(tallies::merge(key_of("t"), requests(event), known));
      if (outcome) {
        const auto* tallied = std::get_if<Tallied>(&*outcome);
        if (tallied == nullptr) world.complaint = "an outcome that nobody expected";
        const bool first = tallied != nullptr && !tallied->replayed;
        if (first && ++world.merged[event] > 1) world.complaint = "two were the first";
        break;
      }
      co_await pause(kBackoff);
    }
  }
  co_return std::monostate{};
}

std::optional<TallyReading> reading_of(Simulation& simulation, const std::string& name) {
  Entropy entropy(1);
  BlockingDriver driver(simulation.store(), simulation.clock(), entropy);
  auto reading = driver.run(tallies::read(key_of(name), {}, nullptr));
  return reading ? *reading : std::nullopt;
}

std::string judge(Simulation& simulation, const Requests& requests,
                  const std::function<bool(const TallyValue&)>& exact) {
  World world;
  for (int client = 0; client < kClients; ++client) {
    simulation.add_client("c" + std::to_string(client),
                          [&] { return deliver_all(requests, world); });
  }
  if (!simulation.run()) return "never ends";
  if (!world.complaint.empty()) return world.complaint;
  const auto reading = reading_of(simulation, "t");
  if (!reading) return "there is no tally";
  return exact(reading->value) ? "" : "the tally is not exact";
}

TallyRequest sum_of_event(int event) {
  return request_of({.kind = TallyKind::sum}, std::int64_t{1} << event, event);
}

TallyRequest windowed_sum_of_event(int event) {
  return request_of({.kind = TallyKind::sum, .window = TallyWindow::minute},
                    std::int64_t{1} << event, event);
}

TallyRequest real_of_event(int event) {
  return request_of({.kind = TallyKind::real}, static_cast<double>(1 << event), event);
}

TallyRequest top_of_event(int event) {
  return request_of({.kind = TallyKind::top, .window = TallyWindow::minute},
                    std::vector<CountedItem>{{"item", std::uint64_t{1} << event}}, event);
}

constexpr std::int64_t kTotal = (1 << kEvents) - 1;

std::string judge_sum(Simulation& simulation, const Requests& requests) {
  return judge(simulation, requests,
               [](const TallyValue& value) { return std::get<std::int64_t>(value) == kTotal; });
}

std::string judge_plain_sum(Simulation& simulation) { return judge_sum(simulation, sum_of_event); }

std::string judge_windowed_sum(Simulation& simulation) {
  return judge_sum(simulation, windowed_sum_of_event);
}

std::string judge_real(Simulation& simulation) {
  return judge(simulation, real_of_event,
               [](const TallyValue& value) { return std::get<double>(value) == kTotal; });
}

std::string judge_top(Simulation& simulation) {
  return judge(simulation, top_of_event, [](const TallyValue& value) {
    const auto& items = std::get<std::vector<HeavyItem>>(value);
    return items.size() == 1 && items[0].count == kTotal && items[0].error == 0;
  });
}

TEST(TalliesSimulation, SumsWithIdsAreExact) { expect_holds(2'000, judge_plain_sum); }

TEST(TalliesSimulation, SumsWithIdsAreExactOnASingleWriteStore) {
  expect_holds(2'000, judge_plain_sum, kSingleWrite);
}

TEST(TalliesSimulation, H20_WindowedSumsWithIdsAreExactAcrossWindows) {
  expect_holds(2'000, judge_windowed_sum, crossing_windows(0));
}

TEST(TalliesSimulation, H20_WindowedSumsWithIdsAreExactAcrossWindowsOnASingleWriteStore) {
  expect_holds(2'000, judge_windowed_sum, crossing_windows(1));
}

TEST(TalliesSimulation, RealsWithIdsAreExact) {
  expect_holds(1'000, judge_real);
  expect_holds(1'000, judge_real, kSingleWrite);
}

TEST(TalliesSimulation, SketchesWithIdsAreExact) {
  expect_holds(1'000, judge_top, crossing_windows(0));
  expect_holds(1'000, judge_top, crossing_windows(1));
}

// --- Without ids: at least what was acknowledged, at most what was sent. ---

struct Sent {
  std::int64_t started = 0;
  std::int64_t acknowledged = 0;
};

Plan<std::monostate> count_unnamed(TallyShape shape, Sent& sent) {
  for (int i = 0; i < kEvents; ++i) {
    ++sent.started;
    TallyInput one = shape.kind == TallyKind::real ? TallyInput(1.0) : TallyInput(std::int64_t{1});
    TallyRequest request{.shape = shape, .input = std::move(one), .id = ""};
    const Result<TallyOutcome> outcome =
        co_await attempt(tallies::merge(key_of("t"), std::move(request)));
    if (outcome) ++sent.acknowledged;
  }
  co_return std::monostate{};
}

std::string judge_unnamed(Simulation& simulation, TallyKind kind) {
  Sent sent;
  for (int client = 0; client < kClients; ++client) {
    simulation.add_client("c" + std::to_string(client),
                          [&, kind] { return count_unnamed({.kind = kind}, sent); });
  }
  if (!simulation.run()) return "never ends";
  const auto reading = reading_of(simulation, "t");
  std::int64_t total = 0;
  if (reading && kind == TallyKind::real) {
    total = static_cast<std::int64_t>(std::get<double>(reading->value));
  } else if (reading) {
    total = std::get<std::int64_t>(reading->value);
  }
  if (total < sent.acknowledged) return "lost what was acknowledged";
  return total > sent.started ? "counted more than was sent" : "";
}

TEST(TalliesSimulation, WithoutIdsNothingIsLostAndNothingSentTwice) {
  for (const TallyKind kind : {TallyKind::sum, TallyKind::real}) {
    for (const std::size_t limit : {0U, 1U}) {
      expect_holds(500, [=](Simulation& simulation) { return judge_unnamed(simulation, kind); },
                   {.writes_per_commit = limit});
    }
  }
}

// --- Without ids, for idempotent kinds: a lost reply is never the answer. ---

struct Gathered {
  std::set<std::int64_t> started;
  std::set<std::int64_t> acknowledged;
  bool unknown = false;
};

TallyInput input_of(TallyKind kind, std::int64_t number) {
  if (kind == TallyKind::max || kind == TallyKind::min) return number;
  return std::vector<CountedItem>{{std::to_string(number)}};
}

Plan<std::monostate> gather_unnamed(TallyShape shape, int client, Gathered& gathered) {
  for (int event = 0; event < kEvents; ++event) {
    // Neither ascending nor descending.
    const std::int64_t number = (event * 3 % kEvents - 2) * kClients + client;
    gathered.started.insert(number);
    TallyRequest request{.shape = shape, .input = input_of(shape.kind, number), .id = ""};
    const Result<TallyOutcome> outcome =
        co_await attempt(tallies::merge(key_of("t"), std::move(request)));
    if (outcome) gathered.acknowledged.insert(number);
    if (!outcome && outcome.error().code == ErrorCode::unknown) gathered.unknown = true;
  }
  co_return std::monostate{};
}

// Everything acknowledged is included, and nothing that was not sent.
bool fits(const Gathered& gathered, const TallyReading& reading) {
  const auto number = [&] { return std::get<std::int64_t>(reading.value); };
  const auto& started = gathered.started;
  const auto& acknowledged = gathered.acknowledged;
  switch (reading.kind) {
    case TallyKind::max: return started.contains(number()) && number() >= *acknowledged.rbegin();
    case TallyKind::min: return started.contains(number()) && number() <= *acknowledged.begin();
    case TallyKind::distinct:
      return number() >= std::ssize(acknowledged) && number() <= std::ssize(started);
    default:
      return std::ranges::all_of(acknowledged, [&](std::int64_t sent) {
        return std::get<BloomAnswer>(reading.value).may_contain(std::to_string(sent));
      });
  }
}

std::string judge_idempotent(Simulation& simulation, const TallyShape& shape) {
  Gathered gathered;
  for (int client = 0; client < kClients; ++client) {
    simulation.add_client("c" + std::to_string(client),
                          [&, client] { return gather_unnamed(shape, client, gathered); });
  }
  if (!simulation.run()) return "never ends";
  if (gathered.unknown) return "a lost reply was not found out";
  if (gathered.acknowledged.empty()) return "";
  const auto reading = reading_of(simulation, "t");
  if (!reading) return "there is no tally";
  return fits(gathered, *reading) ? "" : "the tally is not exact";
}

TEST(TalliesSimulation, H7_LostRepliesAreFoundOutWithoutIdsWhereARepeatChangesNothing) {
  using enum TallyKind;
  for (const TallyKind kind : {max, min, distinct, bloom}) {
    const TallyShape shape{.kind = kind, .capacity = 100};
    const auto judged = [&](Simulation& simulation) { return judge_idempotent(simulation, shape); };
    expect_holds(1'000, judged);
    expect_holds(1'000, judged, kSingleWrite);
  }
}

// --- Two kinds race for one name. ---

Plan<std::monostate> merge_as(TallyKind kind, int& merged, int& other) {
  for (int event = 0; event < kEvents; ++event) {
    TallyRequest request = request_of({.kind = kind}, std::int64_t{1}, event);
    const Result<TallyOutcome> outcome =
        co_await attempt(tallies::merge(key_of("t"), std::move(request)));
    if (outcome && std::holds_alternative<Tallied>(*outcome)) ++merged;
    if (outcome && std::holds_alternative<OtherTally>(*outcome)) ++other;
  }
  co_return std::monostate{};
}

std::string judge_kinds(Simulation& simulation) {
  int sums = 0;
  int maxima = 0;
  int no_sums = 0;
  int no_maxima = 0;
  simulation.add_client("sum", [&] { return merge_as(TallyKind::sum, sums, no_sums); });
  simulation.add_client("max", [&] { return merge_as(TallyKind::max, maxima, no_maxima); });
  if (!simulation.run()) return "never ends";
  if (sums > 0 && (maxima > 0 || no_sums > 0)) return "both kinds were merged";
  return maxima > 0 && no_maxima > 0 ? "a kind was given up" : "";
}

TEST(TalliesSimulation, H21_OneOfTwoKindsWinsForGood) {
  expect_holds(1'000, judge_kinds);
  expect_holds(1'000, judge_kinds, kSingleWrite);
}

// --- A tally is removed while others add to it. ---

constexpr int kAdders = 3;
constexpr int kAdds = 5;
constexpr int kDigit = 4;  // Bits of each add: a second one of the same would show.

struct Removals {
  bool over = false;
  std::int64_t after = 0;  // What was added and acknowledged after the last removal was.
  tallies::KnownTallies known;
};

Plan<std::monostate> add_all(int adder, TallyShape shape, Removals& removals) {
  for (int add = 0; add < kAdds; ++add) {
    const int digit = adder * kAdds + add;
    const bool after = removals.over;
    TallyRequest request = request_of(shape, std::int64_t{1} << (digit * kDigit), digit);
    for (;;) {
      tallies::KnownTallies* const known = adder == 0 ? nullptr : &removals.known;
      const Result<TallyOutcome> outcome =
          co_await attempt(tallies::merge(key_of("t"), request, known));
      if (outcome) break;
      co_await pause(kBackoff);
    }
    if (after) removals.after += std::int64_t{1} << (digit * kDigit);
  }
  co_return std::monostate{};
}

Plan<std::monostate> remove_twice(Removals& removals) {
  for (int i = 0; i < 2; ++i) {
    co_await pause(kBackoff);
    for (;;) {
      const Result<bool> removed = co_await attempt(tallies::remove(key_of("t")));
      if (removed) break;
      co_await pause(kBackoff);
    }
  }
  removals.over = true;
  co_return std::monostate{};
}

std::string judge_removal(Simulation& simulation, const TallyShape& shape) {
  Removals removals;
  for (int adder = 0; adder < kAdders; ++adder) {
    simulation.add_client("a" + std::to_string(adder),
                          [&, adder] { return add_all(adder, shape, removals); });
  }
  simulation.add_client("remover", [&] { return remove_twice(removals); });
  if (!simulation.run()) return "never ends";
  const auto reading = reading_of(simulation, "t");
  const std::int64_t total = reading ? std::get<std::int64_t>(reading->value) : 0;
  for (int digit = 0; digit < kAdders * kAdds; ++digit) {
    const std::int64_t times = total >> (digit * kDigit) & ((1 << kDigit) - 1);
    const std::int64_t least = removals.after >> (digit * kDigit) & 1;
    if (times > 1) return "added twice";
    if (times < least) return "an add after the removal was lost";
  }
  return "";
}

TEST(TalliesSimulation, WhatIsAddedAfterARemovalStaysAndNothingIsAddedTwice) {
  for (const TallyWindow window : {TallyWindow::none, TallyWindow::minute}) {
    const TallyShape shape{.kind = TallyKind::sum, .window = window};
    expect_holds(1'000, [&](Simulation& simulation) { return judge_removal(simulation, shape); });
  }
}

Plan<std::monostate> merge_once(TallyKind kind, int& wrong) {
  for (int i = 0; i < kAdds; ++i) {
    TallyRequest request{.shape = {.kind = kind}, .input = std::int64_t{1}, .id = ""};
    const Result<TallyOutcome> outcome =
        co_await attempt(tallies::merge(key_of("t"), std::move(request)));
    const bool corrupt = !outcome && outcome.error().code == ErrorCode::corrupt;
    if (corrupt) ++wrong;
  }
  co_return std::monostate{};
}

// A sketch and a number cannot be told from each other in a bucket that both write.
std::string judge_kinds_and_removal(Simulation& simulation) {
  Removals removals;
  int wrong = 0;
  simulation.add_client("sum", [&] { return merge_once(TallyKind::sum, wrong); });
  simulation.add_client("max", [&] { return merge_once(TallyKind::max, wrong); });
  simulation.add_client("remover", [&] { return remove_twice(removals); });
  if (!simulation.run()) return "never ends";
  const auto reading = reading_of(simulation, "t");
  if (reading && reading->kind == TallyKind::max && std::get<std::int64_t>(reading->value) != 1) {
    return "sums were mixed into a max";
  }
  return wrong > 0 ? "a bucket of another kind was met" : "";
}

TEST(TalliesSimulation, H21_AfterARemovalNoMergeOfTheOldKindLandsInTheNewTally) {
  expect_holds(1'000, judge_kinds_and_removal);
}

// --- Processes remember what a tally is, and it becomes another. ---

using Sends = std::map<int, int>;  // By digit: how often it was sent, which is again after a crash.

// Adds a digit of its own each time, without ids. What comes back as unknown is not sent again.
Plan<std::monostate> add_remembering(int adder, Removals& removals, Sends& sends,
                                     tallies::KnownTallies& known) {
  for (int add = 0; add < kAdds; ++add) {
    const int digit = adder * kAdds + add;
    const bool after = removals.over;
    const std::int64_t amount = std::int64_t{1} << (digit * kDigit);
    TallyRequest request{.shape = {.kind = TallyKind::sum}, .input = amount, .id = ""};
    ++sends[digit];
    const Result<TallyOutcome> outcome =
        co_await attempt(tallies::merge(key_of("t"), std::move(request), &known));
    const bool added = outcome && std::holds_alternative<Tallied>(*outcome);
    if (added && after) removals.after |= amount;
  }
  co_return std::monostate{};
}

Plan<std::monostate> raise_remembering(tallies::KnownTallies& known) {
  for (int i = 0; i < kAdds; ++i) {
    TallyRequest request{.shape = {.kind = TallyKind::max}, .input = std::int64_t{1}, .id = ""};
    (void)co_await attempt(tallies::merge(key_of("t"), std::move(request), &known));
  }
  co_return std::monostate{};
}

std::string judge_remembered_removal(Simulation& simulation) {
  Removals removals;
  Sends sends;
  std::array<tallies::KnownTallies, kAdders> known;
  for (int adder = 0; adder < kAdders - 1; ++adder) {
    tallies::KnownTallies& own = known.at(static_cast<std::size_t>(adder));
    simulation.add_client("a" + std::to_string(adder),
                          [&, adder] { return add_remembering(adder, removals, sends, own); });
  }
  simulation.add_client("max", [&] { return raise_remembering(known.back()); });
  simulation.add_client("remover", [&] { return remove_twice(removals); });
  if (!simulation.run()) return "never ends";
  const auto reading = reading_of(simulation, "t");
  const std::int64_t total = reading ? std::get<std::int64_t>(reading->value) : 0;
  if (reading && reading->kind == TallyKind::max) {
    if (total != 1) return "sums were mixed into a max";
    return removals.after != 0 ? "an add after the removal was lost" : "";
  }
  for (int digit = 0; digit < kAdders * kAdds; ++digit) {
    const std::int64_t times = total >> (digit * kDigit) & ((1 << kDigit) - 1);
    if (times > sends[digit]) return "added more often than it was sent, or to a max";
    if (times < (removals.after >> (digit * kDigit) & 1))
      return "an add after the removal was lost";
  }
  return "";
}

TEST(TalliesSimulation, H21_ARememberedTallyThatIsRemovedLosesNoAdd) {
  expect_holds(2'000, judge_remembered_removal);
}

struct Retentions {
  int unsure = 0;        // Adds with a ttl that may come late.
  bool over = false;     // Nothing is added with a ttl any more.
  bool lasting = false;  // Something was added without one since.
};

Plan<std::monostate> add_for_a_moment(Retentions& retentions, tallies::KnownTallies& known) {
  for (int i = 0; i < kAdds; ++i) {
    TallyRequest request{
        .shape = {.kind = TallyKind::sum}, .input = std::int64_t{1}, .id = "", .ttl = Duration(1)};
    ++retentions.unsure;
    const Result<TallyOutcome> outcome =
        co_await attempt(tallies::merge(key_of("t"), std::move(request), &known));
    if (outcome) --retentions.unsure;
  }
  retentions.over = true;
  co_return std::monostate{};
}

Plan<std::monostate> add_for_good(Retentions& retentions, tallies::KnownTallies& known) {
  for (int i = 0; i < kAdds || !retentions.lasting; ++i) {
    const bool over = retentions.over;
    TallyRequest request{.shape = {.kind = TallyKind::sum}, .input = std::int64_t{1}, .id = ""};
    const Result<TallyOutcome> outcome =
        co_await attempt(tallies::merge(key_of("t"), std::move(request), &known));
    if (outcome && over) retentions.lasting = true;
    co_await pause(kBackoff);
  }
  co_await pause(20min);  // Longer than a meta item stays that has an end.
  co_return std::monostate{};
}

std::string judge_remembered_end(Simulation& simulation) {
  Retentions retentions;
  tallies::KnownTallies one;
  tallies::KnownTallies two;
  simulation.add_client("moment", [&] { return add_for_a_moment(retentions, one); });
  simulation.add_client("good", [&] { return add_for_good(retentions, two); });
  if (!simulation.run()) return "never ends";
  const auto reading = reading_of(simulation, "t");
  if (retentions.unsure > 0) return "";
  return retentions.lasting && !reading ? "what was added for good has ended" : "";
}

TEST(TalliesSimulation, H21_ARememberedTallyThatGetsAnEndLosesNoAdd) {
  expect_holds(2'000, judge_remembered_end);
}

}  // namespace
}  // namespace once::testing
