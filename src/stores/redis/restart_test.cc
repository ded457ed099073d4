// The engine itself dies and comes back, with clients at work.
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "once/claims.h"
#include "once/local.h"
#include "once/log.h"
#include "once/tallies.h"
#include "stores/redis/store_fixture.h"

namespace once::testing {
namespace {

constexpr std::size_t kClients = 4;

// What a client was told.
struct Told {
  std::vector<std::pair<std::int64_t, std::string>> appended;  // Where, and what.
  std::int64_t sure = 0;                                       // Adds.
  std::int64_t unsure = 0;
  std::vector<std::string> done;  // Claims.
};

std::vector<LogEntry> read_all(Log& log) {
  std::vector<LogEntry> events;
  for (std::int64_t from = 1;;) {
    const LogPage page = log.read("s", {.from = from, .limit = 10'000}).value();
    if (page.events.empty()) return events;
    events.insert(events.end(), page.events.begin(), page.events.end());
    from = page.next;
  }
}

class RedisRestart : public RedisTest {
 protected:
  Told work(std::size_t client) {
    Told told;
    const auto store = open();
    LocalLog log(*store);
    LocalTallies tallies(*store);
    LocalClaims claims(*store);
    for (int i = 0; !stop_; ++i) {
      const std::string name = std::to_string(client) + "-" + std::to_string(i);
      const auto appended = log.append("s", {{name, std::nullopt}}, {.batch = name});
      const bool landed = appended && std::holds_alternative<Appended>(*appended);
      if (landed) told.appended.emplace_back(std::get<Appended>(*appended).first, name);
      const auto added = tallies.merge("sum", {.input = std::int64_t{1}});
      if (added) ++told.sure;
      if (!added && added.error().code == ErrorCode::unknown) ++told.unsure;
      const auto taken = claims.take(name, {});
      if (!taken || !std::holds_alternative<Claimed>(*taken)) continue;
      const auto settled = claims.complete(name, std::get<Claimed>(*taken).ticket, name);
      if (!settled || !std::holds_alternative<Settled>(*settled)) continue;
      told.done.push_back(name);
      if (landed && added) ++whole_.at(client);
    }
    return told;
  }

  // Until every client has had so many more rounds in which all was answered well.
  void await_rounds(int more) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (std::atomic<int>& rounds : whole_) {
      for (const int until = rounds + more; rounds < until;) {
        ASSERT_LT(std::chrono::steady_clock::now(), patience) << "a client gets nothing done";
        std::this_thread::yield();
      }
    }
  }

  void judge(const std::vector<Told>& all) {
    const auto store = open();
    LocalLog log(*store);
    LocalTallies tallies(*store);
    LocalClaims claims(*store);
    const std::vector<LogEntry> events = read_all(log);
    for (std::size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i].index, static_cast<std::int64_t>(i) + 1);
    }
    std::int64_t sure = 0;
    std::int64_t unsure = 0;
    for (const Told& told : all) {
      sure += told.sure;
      unsure += told.unsure;
      for (const auto& [index, data] : told.appended) {
        ASSERT_LE(index, static_cast<std::int64_t>(events.size()));
        EXPECT_EQ(events[static_cast<std::size_t>(index) - 1].data, data);
      }
      for (const std::string& name : told.done) {
        const auto state = claims.show(name).value();
        ASSERT_TRUE(state.has_value());
        EXPECT_EQ(state->kind, ClaimState::Kind::done);
      }
    }
    const auto tally = tallies.read("sum").value();
    ASSERT_TRUE(tally.has_value());
    const auto sum = std::get<std::int64_t>(tally->value);
    EXPECT_GE(sum, sure);
    EXPECT_LE(sum, sure + unsure);
  }

  std::atomic<bool> stop_ = false;
  std::array<std::atomic<int>, kClients> whole_ = {};  // Rounds, of each client.
};

TEST_F(RedisRestart, NothingAcknowledgedIsLostAndNothingIsAppliedTwiceWhenItIsKilledUnderLoad) {
  std::vector<Told> told(kClients);
  {
    std::vector<std::jthread> clients;
    for (std::size_t i = 0; i < kClients; ++i) {
      clients.emplace_back([&, i] { told[i] = work(i); });
    }
    for (int kill = 0; kill < 3; ++kill) {
      await_rounds(20);
      server_->kill();
      server_->start();
    }
    await_rounds(20);
    stop_ = true;
  }
  judge(told);
}

}  // namespace
}  // namespace once::testing
