// Lost requests and replies, servers that hang, restart or forget our scripts.
#include <signal.h>

#include <atomic>
#include <latch>
#include <thread>

#include "once/local.h"
#include "once/log.h"
#include "stores/redis/store_fixture.h"
#include "testing/code_of.h"
#include "testing/relay/wire_relay.h"

namespace once::testing {
namespace {

using Fate = WireRelay::Fate;

class RedisFaults : public RedisTest {
 protected:
  void SetUp() override {
    RedisTest::SetUp();
    if (!server_) return;
    relay_ = std::make_unique<WireRelay>(server_->port());
    store_ = open(relay_->port());
    direct_ = open();
  }

  // The next request that has this word in it.
  void once(std::string word, Fate fate) {
    hits_ = 0;
    relay_->decide([this, word = std::move(word), fate](std::string_view bytes) {
      const bool hit = bytes.find(word) != std::string_view::npos && hits_++ == 0;
      return hit ? fate : Fate::pass;
    });
  }

  std::atomic<int> hits_ = 0;
  std::unique_ptr<WireRelay> relay_;
  std::unique_ptr<RedisStore> store_;
  std::unique_ptr<RedisStore> direct_;  // Past the relay.
};

TEST_F(RedisFaults, H7_APutWhoseReplyWasLostIsFoundByItsVersion) {
  const Write put_it = fresh(put(key_at("k"), Bytes("v"), absent()));
  once("NX", Fate::drop_reply);
  EXPECT_TRUE(wins(commit_one(*store_, put_it)));
  EXPECT_EQ(hits_, 1);
  EXPECT_EQ(direct_->get(key_at("k")).value()->version, put_it.version);
}

TEST_F(RedisFaults, H7_AnAddWhoseReplyWasLostCountsOnce) {
  ASSERT_TRUE(wins(commit_one(*store_, fresh(add(key_at("n"), 5)))));
  once("EVALSHA", Fate::drop_reply);
  const auto answer = commit_one(*store_, fresh(add(key_at("n"), 2)));
  ASSERT_TRUE(wins(answer));
  EXPECT_EQ(std::get<Committed>(*answer).numbers.at(0), 7);
  EXPECT_EQ(direct_->get(key_at("n")).value()->value, Value(std::int64_t{7}));
}

TEST_F(RedisFaults, H33_WhatAProxySendsTwiceTakesEffectOnce) {
  once("NX", Fate::repeat);
  EXPECT_TRUE(wins(commit_one(*store_, fresh(put(key_at("k"), Bytes("v"), absent())))));
  ASSERT_TRUE(wins(commit_one(*store_, fresh(add(key_at("n"), 5)))));
  once("EVALSHA", Fate::repeat);
  const auto answer = commit_one(*store_, fresh(add(key_at("n"), 5)));
  ASSERT_TRUE(wins(answer));
  EXPECT_EQ(std::get<Committed>(*answer).numbers.at(0), 10);
  EXPECT_EQ(direct_->get(key_at("n")).value()->value, Value(std::int64_t{10}));
  // The second sees that the first erased what it was to erase.
  const std::vector<Write> both = {
      erase(key_at("k"), unchanged(direct_->get(key_at("k")).value()->version)),
      fresh(put(key_at("m"), Bytes("v"), absent()))};
  once("EVALSHA", Fate::repeat);
  EXPECT_TRUE(wins(store_->commit(both)));
}

TEST_F(RedisFaults, H7_AnAddThatIsNotFoundIsUnknownAndNotSentAgain) {
  once("EVALSHA", Fate::cut);
  EXPECT_EQ(code_of(commit_one(*store_, fresh(add(key_at("n"), 2)))), ErrorCode::unknown);
  EXPECT_EQ(hits_, 1);
  EXPECT_EQ(direct_->get(key_at("n")).value(), std::nullopt);
}

TEST_F(RedisFaults, WhatCannotTakeEffectTwiceIsSentAgain) {
  const Write first = fresh(put(key_at("k"), Bytes("v"), absent()));
  ASSERT_TRUE(wins(commit_one(*store_, first)));
  once("EVALSHA", Fate::cut);
  EXPECT_TRUE(
      wins(commit_one(*store_, fresh(put(key_at("k"), Bytes("w"), unchanged(first.version))))));
  EXPECT_EQ(hits_, 2);
  EXPECT_EQ(direct_->get(key_at("k")).value()->value, Value(Bytes("w")));
}

TEST_F(RedisFaults, AGroupWhoseRepliesWereLostIsFoundWhole) {
  std::vector<Write> writes;
  for (int i = 0; i < 20; ++i) writes.push_back(fresh(put(key_at("g", i), Bytes("v"), absent())));
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  once("EVALSHA", Fate::drop_reply);
  for (const auto& answer : store_->commit_each(group)) EXPECT_TRUE(wins(answer));
  EXPECT_EQ(direct_->scan({.partition = {"g", ""}}).value().entries.size(), writes.size());
}

TEST_F(RedisFaults, ReadingsAreRepeated) {
  ASSERT_TRUE(wins(commit_one(*store_, fresh(put(key_at("k"), Bytes("v"), absent())))));
  for (const Fate fate : {Fate::cut, Fate::drop_reply}) {
    once("GET", fate);
    EXPECT_TRUE(store_->get(key_at("k")).value().has_value());
    once("EVALSHA", fate);
    EXPECT_EQ(store_->scan({.partition = {"k", ""}}).value().entries.size(), 1U);
    once("SCAN", fate);
    EXPECT_EQ(store_->list({}).value().items.size(), 1U);
    EXPECT_EQ(hits_, 2);
  }
}

TEST_F(RedisFaults, NoCallOutlastsItsTimeWhenNothingComesBack) {
  const auto hasty = open(relay_->port(), std::chrono::seconds(1));
  relay_->decide([](std::string_view) { return Fate::stall; });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of(hasty->get(key_at("k"))), ErrorCode::unavailable);
  EXPECT_EQ(code_of(commit_one(*hasty, fresh(add(key_at("n"), 1)))), ErrorCode::unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
}

TEST_F(RedisFaults, AServerThatHangsIsUnknownForWhatItWasSent) {
  const auto hasty = open(server_->port(), std::chrono::seconds(1));
  const Write write = fresh(add(key_at("n"), 1));
  ::kill(server_->pid(), SIGSTOP);
  EXPECT_EQ(code_of(commit_one(*hasty, write)), ErrorCode::unknown);
  ::kill(server_->pid(), SIGCONT);
  // It was on its way, and has come.
  EXPECT_EQ(hasty->get(key_at("n")).value()->version, write.version);
}

TEST_F(RedisFaults, AServerThatComesBackIsUsedAgain) {
  ASSERT_TRUE(wins(commit_one(*direct_, fresh(put(key_at("k"), Bytes("v"), absent())))));
  server_->kill();
  server_->start();
  EXPECT_TRUE(direct_->get(key_at("k")).value().has_value());
  EXPECT_TRUE(wins(commit_one(*direct_, fresh(add(key_at("n"), 1)))));
}

TEST_F(RedisFaults, AServerThatBecameAReplicaTakesNothingUntilItIsAMasterAgain) {
  const auto hasty = open(server_->port(), std::chrono::seconds(1));
  EXPECT_EQ(server_->cli("replicaof 127.0.0.1 1"), "OK");
  EXPECT_EQ(code_of(commit_one(*hasty, fresh(put(key_at("k"), Bytes("v"), absent())))),
            ErrorCode::unavailable);
  EXPECT_EQ(code_of(commit_one(*hasty, fresh(add(key_at("n"), 1)))), ErrorCode::unavailable);
  EXPECT_EQ(server_->cli("replicaof no one"), "OK");
  EXPECT_TRUE(wins(commit_one(*hasty, fresh(add(key_at("n"), 1)))));
}

// As an address that stands for whichever is the master.
class RedisPromotion : public RedisFaults {
 protected:
  void SetUp() override {
    RedisFaults::SetUp();
    if (!server_) return;
    other_ = std::make_unique<RedisServer>();
  }

  std::vector<std::string> arguments() override { return {"--repl-diskless-sync-delay", "0"}; }

  // The other has all that is here, and what comes.
  void replicate() {
    other_->cli("replicaof 127.0.0.1 " + std::to_string(server_->port()));
    catch_up();
  }

  // WAIT would not do: it waits for the writes of the one who asks, who is not the store.
  void catch_up() {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (server_->cli("info replication").find("state=online") == std::string::npos ||
           other_->cli("info replication").find("master_link_status:up") == std::string::npos ||
           said(*other_, "slave_repl_offset:") != said(*server_, "master_repl_offset:")) {
      ASSERT_LT(std::chrono::steady_clock::now(), patience);
    }
  }

  static std::string said(RedisServer& server, const std::string& name) {
    const std::string all = server.cli("info replication");
    const std::size_t at = all.find("\n" + name);
    if (at == std::string::npos) return {};
    const std::size_t from = at + 1 + name.size();
    return all.substr(from, all.find('\r', from) - from);
  }

  std::unique_ptr<RedisServer> other_;
};

TEST_F(RedisPromotion, OneReadonlyAnswerIsEnoughToLeaveAFormerMaster) {
  {
    std::latch together(8);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 20; ++n) {
          if (n == 0) together.arrive_and_wait();
          EXPECT_TRUE(store_->get(key_at("k")).has_value());
        }
      });
    }
  }
  EXPECT_EQ(server_->cli("replicaof 127.0.0.1 1"), "OK");
  relay_->lead_to(other_->port());
  EXPECT_TRUE(wins(commit_one(*store_, fresh(put(key_at("k"), Bytes("v"), absent())))));
  EXPECT_NE(server_->cli("info errorstats").find("errorstat_READONLY:count=1\r"), std::string::npos)
      << server_->cli("info errorstats");
  EXPECT_TRUE(open(other_->port())->get(key_at("k")).value().has_value());
}

// A replica that came after we opened, and a failover that lost the newest.
TEST_F(RedisPromotion, WhatAFailoverLosesLeavesNoHoleInALog) {
  LocalLog log(*store_);
  const auto append = [&](const char* name) {
    const auto appended = log.append("s", {{name, std::nullopt}});
    EXPECT_TRUE(appended.has_value());
    return appended ? std::get<Appended>(*appended).first : 0;
  };
  EXPECT_EQ(append("a"), 1);
  replicate();
  EXPECT_EQ(append("b"), 2);
  catch_up();
  EXPECT_EQ(other_->cli("replicaof no one"), "OK");
  EXPECT_EQ(append("c"), 3);
  relay_->lead_to(other_->port());
  server_->kill();
  EXPECT_EQ(append("d"), 3);
  const LogPage page = log.read("s", {}).value();
  ASSERT_EQ(page.events.size(), 3U);
  EXPECT_EQ(page.events[2].data, "d");
}

TEST_F(RedisFaults, AServerThatForgotOurScriptsIsToldThemAgainAndOrderIsKept) {
  std::vector<Write> writes;
  for (int i = 0; i < 10; ++i) writes.push_back(fresh(raise(key_at("n"), i)));
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  EXPECT_EQ(server_->cli("script flush"), "OK");
  const auto answers = direct_->commit_each(group);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(wins(answers[i]));
    EXPECT_EQ(std::get<Committed>(*answers[i]).numbers.at(0), static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(server_->cli("script flush"), "OK");
  EXPECT_EQ(direct_->scan({.partition = {"n", ""}}).value().entries.size(), 1U);
}

}  // namespace
}  // namespace once::testing
