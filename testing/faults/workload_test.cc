// Several clients use every primitive, on each store that is a server and through `once serve`,
// while every third write goes wrong in one way, one hangs, or some keys are slow. What the
// simulator asserts of a model is asserted here of the real stores: nothing acknowledged is lost,
// nothing happens twice, streams keep their order, and no claim has two holders.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <ostream>
#include <thread>

#include "once/local.h"
#include "testing/faults/faulty_way.h"
#include "testing/stores/chosen_store.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kClients = 4;
constexpr int kRounds = 5;
constexpr const char* kSlow = "slow";

struct Trouble {
  const char* name;
  std::function<void(FaultyWay&)> begin;
};

void PrintTo(const Trouble& trouble, std::ostream* out) { *out << trouble.name; }

Trouble every_third(const char* name, WriteFault fault) {
  return {name, [fault](FaultyWay& way) { way.set(fault, 3); }};
}

// Where keys are slow, every second one is.
std::string key_of(int round) {
  return (round % 2 == 0 ? "slow" : "quick") + std::to_string(round);
}

std::string name_of(int client, int round) {
  return std::string(1, static_cast<char>('a' + client)) + std::to_string(round);
}

// Repeats under the same id until the outcome is known.
template <class Call>
auto until_known(Call call) {
  auto answer = call();
  for (int i = 0; i < 100 && is_transient(answer); ++i) answer = call();
  EXPECT_TRUE(answer.has_value()) << answer.error().message;
  return answer;
}

class FaultyWrites : public ::testing::TestWithParam<Trouble> {
 protected:
  void SetUp() override { GetParam().begin(way_); }
  void TearDown() override { EXPECT_GT(way_.met(), 0); }

  // Each client's work for each round, all clients at once.
  template <class Work>
  static void run(Work work) {
    std::vector<std::jthread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([&work, client] {
        for (int round = 0; round < kRounds; ++round) work(client, round);
      });
    }
  }

  FaultyWay way_{server_under_test()};
  Once once_ = way_.connect("default", 2s);
};

TEST_P(FaultyWrites, AnIdIsNewToOneClient) {
  Claims& claims = once_.claims();
  std::array<std::atomic<int>, kRounds> first = {};
  run([&](int client, int round) {
    const std::vector<std::string> ids = {key_of(round)};
    const auto seen = until_known([&] { return claims.seen(ids, 1h, name_of(client, round)); });
    if (seen && seen->at(0)) ++first.at(static_cast<std::size_t>(round));
  });
  for (const std::atomic<int>& count : first) EXPECT_EQ(count, 1);
}

TEST_P(FaultyWrites, AClaimHasOneHolderAndIsDoneOnce) {
  Claims& claims = once_.claims();
  std::array<std::atomic<int>, kRounds> holders = {};
  std::array<std::atomic<int>, kRounds> done = {};
  run([&](int client, int round) {
    const std::string job = key_of(round);
    const auto at = static_cast<std::size_t>(round);
    const auto taken = until_known(
        [&] { return claims.take(job, {.request = name_of(client, round), .lease = 5min}, 20s); });
    const auto* const claimed = taken ? std::get_if<Claimed>(&*taken) : nullptr;
    if (claimed == nullptr) return;
    EXPECT_EQ(++holders.at(at), 1);
    --holders.at(at);
    const auto settled = until_known([&] { return claims.complete(job, claimed->ticket, "x"); });
    if (settled && std::holds_alternative<Settled>(*settled)) ++done.at(at);
  });
  for (const std::atomic<int>& count : done) EXPECT_EQ(count, 1);
}

TEST_P(FaultyWrites, ALogHasEveryBatchOnceInTheOrderOfItsClient) {
  Log& log = once_.log();
  run([&](int client, int round) {
    const std::string name = name_of(client, round);
    until_known([&] { return log.append(kSlow, {{name, std::nullopt}}, {.batch = name}); });
  });
  const LogPage page = log.read(kSlow).value();
  ASSERT_EQ(page.events.size(), static_cast<std::size_t>(kClients * kRounds));
  std::array<int, kClients> next = {};
  std::int64_t index = 1;
  for (const LogEntry& entry : page.events) {
    EXPECT_EQ(entry.index, index++);
    const int client = entry.data.at(0) - 'a';
    EXPECT_EQ(entry.data, name_of(client, next.at(static_cast<std::size_t>(client))++));
  }
}

TEST_P(FaultyWrites, ASumIsWhatWasAdded) {
  Tallies& tallies = once_.tallies();
  run([&](int client, int round) {
    const TallyRequest one{
        .shape = {.kind = TallyKind::sum}, .input = std::int64_t{1}, .id = name_of(client, round)};
    until_known([&] { return tallies.merge(kSlow, one); });
  });
  EXPECT_EQ(std::get<std::int64_t>(tallies.read(kSlow).value()->value), kClients * kRounds);
}

// Through a server a change by a function has no id; the client gives each of its tries one.
TEST_P(FaultyWrites, ADocumentHasEveryChangeOnce) {
  const bool has_ids = once_.store() != nullptr;
  Documents& documents = once_.documents();
  using documents::Content;
  run([&](int client, int round) {
    const std::string name = name_of(client, round);
    until_known([&] {
      return documents.update(
          kSlow,
          {.modify = [&](const std::optional<Content>& standing) -> Result<documents::Modified> {
             return Content{(standing ? standing->bytes : "") + name + ";"};
           },
           .identity = {.id = has_ids ? name : ""},
           .body = name});
    });
  });
  const std::string text = documents.get(kSlow).value()->content.bytes;
  EXPECT_EQ(text.size(), std::string("a0;").size() * kClients * kRounds) << text;
  for (int client = 0; client < kClients; ++client) {
    std::size_t at = 0;
    for (int round = 0; round < kRounds; ++round) {
      at = text.find(name_of(client, round) + ";", at);
      EXPECT_NE(at, std::string::npos) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Through, FaultyWrites,
    ::testing::Values(every_third("Repeat", WriteFault::repeat),
                      every_third("LostReply", WriteFault::lost_reply),
                      every_third("Lost", WriteFault::lost),
                      every_third("ForeignPage", WriteFault::foreign_page),
                      Trouble{"Hang", [](FaultyWay& way) { way.set(WriteFault::hang, 2, 1); }},
                      Trouble{"SlowKey", [](FaultyWay& way) { way.hold_up(kSlow, 50ms); }}),
    [](const auto& info) { return info.param.name; });

// The first of a cluster, or the only one.
TEST(HungServer, H37_HoldsUpOnlyItsOwnKeysAndLosesNothing) {
  constexpr int kNames = 30;
  FaultyWay way(chosen_harness({"redis"}).serve());
  const std::unique_ptr<Store> store = way.open(2s);
  LocalTallies tallies(*store);
  const auto add = [&](int name, std::string id, Duration within) {
    const TallyRequest one{
        .shape = {.kind = TallyKind::sum}, .input = std::int64_t{1}, .id = std::move(id)};
    return tallies.merge("n" + std::to_string(name), one, within);
  };
  for (int name = 0; name < kNames; ++name) ASSERT_TRUE(add(name, "before", 20s).has_value());
  way.hang_server(0);
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> clients;
    for (int name = 0; name < kNames; ++name) {
      clients.emplace_back([&, name] {
        if (add(name, "during", 2s)) ++answered;
      });
    }
  }
  EXPECT_LT(answered, kNames);
  EXPECT_GE(answered, way.servers() > 1 ? kNames / 3 : 0);
  way.heal();
  for (int name = 0; name < kNames; ++name) {
    until_known([&] { return add(name, "during", 20s); });
    const auto read = tallies.read("n" + std::to_string(name)).value();
    EXPECT_EQ(std::get<std::int64_t>(read->value), 2);
  }
}

TEST(SlowKey, H37_HoldsUpOnlyItself) {
  FaultyWay way(server_under_test());
  Once once = way.connect();
  Claims& claims = once.claims();
  ASSERT_TRUE(claims.show("quick").has_value());
  way.hold_up("slowkey");
  std::atomic<bool> answered = false;
  std::jthread slow([&] {
    EXPECT_TRUE(claims.show("slowkey").has_value());
    answered = true;
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(claims.show("quick").has_value());
    EXPECT_FALSE(answered);
  }
}

}  // namespace
}  // namespace once::testing
