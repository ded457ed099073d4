// Many machines on one store that they share: five servers and commands beside them, killed at
// random.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <set>

#include "once/entropy.h"
#include "testing/blackbox/mortal.h"
#include "testing/blackbox/served_store.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

constexpr int kServers = 5;
constexpr int kClients = 10;
constexpr int kJobs = 6;  // Of each client.
constexpr int kRounds = 8;
constexpr int kEvery = 20;  // Steps, of all clients together, between two kills.

class Machines : public ::testing::Test {
 protected:
  void SetUp() override {
    store_.emplace();
    for (int i = 0; i < kServers; ++i) {
      servers_.push_back(std::make_unique<Mortal>(store_->address()));
      ASSERT_TRUE(servers_.back()->running());
    }
  }

  Mortal& server(int i) { return *servers_[static_cast<std::size_t>(i % kServers)]; }

  // Runs each client on a thread of its own; meanwhile servers are killed, one in kEvery steps.
  template <class Work>
  void under_kills(Work work) {
    std::atomic<bool> done = false;
    std::jthread killer([&] {
      Entropy chance(3);
      while (!done) {
        if (steps_ < (kills_ + 1) * kEvery) {
          std::this_thread::yield();
          continue;
        }
        server(static_cast<int>(chance.random() % kServers)).kill_and_restart();
        ++kills_;
      }
    });
    std::vector<std::jthread> clients;
    for (int i = 0; i < kClients; ++i) clients.emplace_back([&, i] { work(i); });
    clients.clear();
    done = true;
  }

  // Before each step of a client: a server may take long to come back, and is waited for.
  void pace() {
    while (steps_ >= (kills_ + 2) * kEvery) std::this_thread::yield();
  }

  std::optional<ServedStore> store_;
  std::vector<std::unique_ptr<Mortal>> servers_;
  std::atomic<int> steps_ = 0;
  std::atomic<int> kills_ = 0;
};

TEST_F(Machines, UnderKillsEachRaceHasOneWinnerLogsAreGaplessAndNoUpdateIsLost) {
  ASSERT_EQ(Stubborn(server(0))
                .call("PUT", "/v1/docs/list", "[]",
                      "If-None-Match: *\r\nContent-Type: application/json\r\n")
                .status,
            201);
  std::array<std::atomic<int>, kRounds> winners = {};
  std::atomic<int> failures = 0;
  under_kills([&](int i) {
    Stubborn client(server(i));
    for (int round = 0; round < kRounds; ++round, ++steps_) {
      pace();
      const RawAnswer answer =
          client.call("POST", "/v1/claims/r" + std::to_string(round),
                      R"({"lease":"1h","request":"c)" + std::to_string(i) + "\"}");
      if (answer.status == 201) ++winners[static_cast<std::size_t>(round)];
    }
    for (int job = 0; job < kJobs; ++job, ++steps_) {
      pace();
      const std::string name = "j" + std::to_string(i) + "-" + std::to_string(job);
      if (!do_job(client, name)) ++failures;
    }
  });
  EXPECT_EQ(failures, 0);
  EXPECT_GE(kills_, 3);
  for (const std::atomic<int>& count : winners) EXPECT_EQ(count, 1);
  Stubborn judge(server(1));
  constexpr auto kAll = static_cast<std::size_t>(kClients * kJobs);
  const auto in_log = names_in(judge.call("GET", "/v1/logs/log?limit=1000", "").body);
  const auto in_document = names_in(judge.call("GET", "/v1/docs/list", "").body);
  for (const auto* names : {&in_log, &in_document}) {
    EXPECT_EQ(names->size(), kAll);
    for (const auto& [name, count] : *names) EXPECT_EQ(count, 1) << name;
  }
  const std::string log = judge.call("GET", "/v1/logs/log?limit=1000", "").body;
  EXPECT_NE(log.find("\"next\":" + std::to_string(kAll + 1)), std::string::npos);
  EXPECT_NE(judge.call("GET", "/v1/tallies/sum", "").body.find(":" + std::to_string(kAll) + "}"),
            std::string::npos);
}

TEST_F(Machines, ACommandRunsOnceOfAllThatAreStartedAndAgainOnlyAfterOneThatWasKilled) {
  const TempDir dir;
  const std::string lines = (dir.path() / "lines").string();
  const auto start = [&](const std::string& key, const std::string& command) {
    return std::make_unique<ChildProcess>(
        ONCE_BINARY, std::vector<std::string>{"run", key, "--store", store_->address(), "--lease",
                                              "1s", "--wait", "60s", "--", "sh", "-c", command});
  };
  // One that is killed before it has done anything.
  auto victim = start("job", "echo begun; sleep 600");
  ASSERT_EQ(victim->read_line(), "begun");
  victim->kill();
  std::vector<std::unique_ptr<ChildProcess>> others;
  for (int i = 0; i < 5; ++i) others.push_back(start("job", "echo $ONCE_ATTEMPT >> " + lines));
  for (auto& other : others) EXPECT_EQ(other->wait(), 0);
  std::ifstream file(lines);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "2\n");
}

// Four machines at the same keys, each of which loses some of its commands at any moment.
TEST_F(Machines, CommandsThatAreKilledAtRandomEndInOneOutcomeEach) {
  constexpr int kKeys = 6;
  constexpr int kRunners = 4;
  const TempDir dir;
  std::array<std::array<std::string, kRunners>, kKeys> told;
  const auto start = [&](int key) {
    const std::string name = "key" + std::to_string(key);
    const std::string note = "echo $ONCE_ATTEMPT >> " + (dir.path() / name).string();
    return std::make_unique<ChildProcess>(
        ONCE_BINARY,
        std::vector<std::string>{"run", name, "--store", store_->address(), "--lease", "1s",
                                 "--wait", "60s", "--", "sh", "-c", note + "; echo $ONCE_FENCE"});
  };
  {
    std::vector<std::jthread> runners;
    for (int i = 0; i < kRunners; ++i) {
      runners.emplace_back([&, i] {
        Entropy chance(static_cast<std::uint64_t>(i));
        for (int key = 0; key < kKeys; ++key) {
          if ((i + key) % 3 == 0) {
            const auto victim = start(key);
            for (auto n = chance.random() % 200'000; n > 0; --n) std::this_thread::yield();
            victim->kill();
          }
          const auto runner = start(key);
          const auto k = static_cast<std::size_t>(key);
          told[k][static_cast<std::size_t>(i)] = runner->read_line().value_or("");
          EXPECT_EQ(runner->wait(), 0);
        }
      });
    }
  }
  for (std::size_t key = 0; key < kKeys; ++key) {
    EXPECT_NE(told[key][0], "");
    for (const std::string& fence : told[key]) EXPECT_EQ(fence, told[key][0]) << key;
    std::ifstream file(dir.path() / ("key" + std::to_string(key)));
    std::multiset<std::string> attempts;
    for (std::string line; std::getline(file, line);) attempts.insert(line);
    EXPECT_FALSE(attempts.empty());
    for (const std::string& attempt : attempts) EXPECT_EQ(attempts.count(attempt), 1U) << key;
  }
}

}  // namespace
}  // namespace once::testing
