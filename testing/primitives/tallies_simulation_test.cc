// Tallies under crashes, lost replies, late writes and clocks that disagree.
#include <gtest/gtest.h>

#include <algorithm>
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

}  // namespace
}  // namespace once::testing
