// docs/recipes.md#4-idempotent-events: look the id up, and store it if it is not there. Two racers
// both win, and an event whose consumer dies after marking it is never processed.
#include <gtest/gtest.h>

#include <map>

#include "once/claims.h"
#include "testing/seed_flaws/queue.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kConsumers = 3;
constexpr int kEvents = 4;

Key mark_of(const std::string& id) { return {{"mark/" + id, ""}, 0}; }
Key effect_of(const std::string& id) { return {{"effect/" + id, ""}, 0}; }

Plan<bool> check_and_mark(std::string id) {
  const Key mark = mark_of(id);
  const std::optional<Item> entry = co_await get(mark);
  if (entry) co_return true;
  Write store = put(mark, Bytes("processed"), anything());
  co_await commit(store);
  co_return false;
}

Plan<bool> handle_by_document(std::string id) {
  const bool duplicate = co_await check_and_mark(id);
  if (duplicate) co_return true;
  Write effect = add(effect_of(id), 1);
  co_await commit(effect);
  co_return true;
}

// The effect and the mark in one commit.
Plan<bool> handle_by_commit(std::string id) {
  std::vector<Write> writes = {put(mark_of(id), Bytes("processed"), absent()),
                               add(effect_of(id), 1)};
  co_await commit(writes);
  co_return true;
}

using Handler = std::function<Plan<bool>(std::string id)>;

Plan<std::monostate> consume(const Handler& handler, int first) {
  for (int i = 0; i < kEvents; ++i) {
    const std::string id = "event-" + std::to_string((first + i) % kEvents);
    for (;;) {
      const Result<bool> handled = co_await attempt(handler(id));
      if (handled) break;
      co_await pause(20ms);
    }
  }
  co_return std::monostate{};
}

// Every event is delivered to every consumer.
std::string judge(Simulation& simulation, const Handler& handler) {
  for (int i = 0; i < kConsumers; ++i) {
    simulation.add_client("c" + std::to_string(i), [&handler] { return consume(handler, 0); });
  }
  if (!simulation.run()) return "never ends";
  for (int i = 0; i < kEvents; ++i) {
    const auto effect = simulation.store().get(effect_of("event-" + std::to_string(i)));
    if (!*effect) return "an event was lost";
    if ((*effect)->value != Value(std::int64_t{1})) return "an event took effect twice";
  }
  return "";
}

std::optional<Finding> find_in_document(const Fates& fates) {
  return find_bug(300, [](Simulation& simulation) { return judge(simulation, handle_by_document); },
                  {.fates = fates});
}

TEST(IdempotentEventsDesign, TwoRacersBothWinByItsOwnWay) {
  const auto found = find_in_document({0, 0, 0, 0, 0});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->complaint, "an event took effect twice");
}

TEST(IdempotentEventsDesign, AnEventWhoseConsumerDiesIsLostByItsOwnWay) {
  bool lost = false;
  for (std::uint64_t seed = 1; seed <= 300 && !lost; ++seed) {
    Simulation simulation({.seed = seed, .fates = {0, 0, 0, 30, 30}});
    lost = judge(simulation, handle_by_document) == "an event was lost";
  }
  EXPECT_TRUE(lost);
}

TEST(IdempotentEventsDesign, MarkAndEffectInOneCommitHold) {
  expect_holds(2'000, [](Simulation& simulation) { return judge(simulation, handle_by_commit); });
}

}  // namespace
}  // namespace once::testing
