// The engine itself dies and comes back, with clients at work.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "once/claims.h"
#include "once/local.h"
#include "once/log.h"
#include "once/tallies.h"
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/needs.h"

namespace once::testing {
namespace {

// What a client was told.
struct Told {
  std::vector<std::pair<std::int64_t, std::string>> appended;  // Where, and what.
  std::int64_t sure = 0;                                       // Adds.
  std::int64_t unsure = 0;
  std::vector<std::string> done;  // Claims.
};

class DynamoDbRestart : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(DynamoDbLocal);
    shared_dynamodb();  // For the keys that clients need.
    server_ = std::make_unique<DynamoDbLocal>(DynamoDbLocal::Data::on_disk);
    options_ = {.table = "restart",
                .region = "eu-west-1",
                .endpoint = server_->url(),
                .timeout = std::chrono::seconds(20)};
    ASSERT_TRUE(create_dynamodb_table(options_).has_value());
  }

  Told work(int client) {
    Told told;
    const auto store = open_dynamodb(options_).value();
    LocalLog log(*store);
    LocalTallies tallies(*store);
    LocalClaims claims(*store);
    for (int i = 0; !stop_; ++i) {
      const std::string name = std::to_string(client) + "-" + std::to_string(i);
      const auto appended = log.append("s", {{name, std::nullopt}}, {.batch = name});
      if (appended && std::holds_alternative<Appended>(*appended)) {
        told.appended.emplace_back(std::get<Appended>(*appended).first, name);
      }
      const auto added = tallies.merge("sum", {.input = std::int64_t{1}});
      if (added) ++told.sure;
      if (!added && added.error().code == ErrorCode::unknown) ++told.unsure;
      const auto taken = claims.take(name, {});
      if (!taken || !std::holds_alternative<Claimed>(*taken)) continue;
      const auto settled = claims.complete(name, std::get<Claimed>(*taken).ticket, name);
      if (!settled || !std::holds_alternative<Settled>(*settled)) continue;
      told.done.push_back(name);
      ++steps_;
    }
    return told;
  }

  void await_steps(int more) {
    for (const int until = steps_ + more; steps_ < until;) std::this_thread::yield();
  }

  void judge(const std::vector<Told>& all) {
    const auto store = open_dynamodb(options_).value();
    LocalLog log(*store);
    LocalTallies tallies(*store);
    LocalClaims claims(*store);
    const LogPage page = log.read("s", {.limit = 10'000}).value();
    for (std::size_t i = 0; i < page.events.size(); ++i) {
      ASSERT_EQ(page.events[i].index, static_cast<std::int64_t>(i) + 1);
    }
    std::int64_t sure = 0;
    std::int64_t unsure = 0;
    for (const Told& told : all) {
      sure += told.sure;
      unsure += told.unsure;
      for (const auto& [index, data] : told.appended) {
        ASSERT_LE(index, static_cast<std::int64_t>(page.events.size()));
        EXPECT_EQ(page.events[static_cast<std::size_t>(index) - 1].data, data);
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

  std::unique_ptr<DynamoDbLocal> server_;
  DynamoDbOptions options_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> steps_ = 0;  // That were done whole.
};

TEST_F(DynamoDbRestart, NothingAcknowledgedIsLostAndNothingIsAppliedTwiceWhenItIsKilledUnderLoad) {
  constexpr int kClients = 4;
  std::vector<Told> told(kClients);
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([&, i] { told[static_cast<std::size_t>(i)] = work(i); });
    }
    for (int kill = 0; kill < 2; ++kill) {
      await_steps(15);
      server_->kill();
      server_->start();
    }
    await_steps(15);
    stop_ = true;
  }
  judge(told);
}

}  // namespace
}  // namespace once::testing
