// Lost requests and replies, backends that are ended, servers that hang or start again.
#include <signal.h>

#include <atomic>
#include <thread>

#include "stores/postgres/store_fixture.h"
#include "testing/code_of.h"
#include "testing/relay/wire_relay.h"
#include "testing/stores/server_cases.h"

namespace once::testing {
namespace {

using Fate = WireRelay::Fate;

class PostgresFaults : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (server_ == nullptr) return;
    relay_ = std::make_unique<WireRelay>(server_->port());
    store_ = open(through_relay());
    direct_ = open();
  }

  PostgresOptions through_relay(Duration timeout = std::chrono::seconds(60)) const {
    PostgresOptions options = this->options(timeout);
    options.connection =
        "postgres://once@127.0.0.1:" + std::to_string(relay_->port()) + "/postgres";
    return options;
  }

  // The next request that has this word in it.
  void once(std::string word, Fate fate) {
    hits_ = 0;
    relay_->decide([this, word = std::move(word), fate](std::string_view bytes) {
      const bool hit = bytes.find(word) != std::string_view::npos && hits_++ == 0;
      return hit ? fate : Fate::pass;
    });
  }

  // Every backend of this database but the one that asks.
  // Returns when they have ended: until then they would take another statement.
  void end_backends() const {
    server_->psql(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity where pid <> "
        "pg_backend_pid() and backend_type = 'client backend'");
  }

  std::atomic<int> hits_ = 0;
  std::unique_ptr<WireRelay> relay_;
  std::unique_ptr<PostgresStore> store_;
  std::unique_ptr<PostgresStore> direct_;  // Past the relay.
};

TEST_F(PostgresFaults, H7_APutWhoseReplyWasLostIsFoundByItsVersion) {
  const Write put_it = fresh(put(key_at("k"), Bytes("v"), absent()));
  once("commit_apart", Fate::drop_reply);
  EXPECT_TRUE(wins(commit_one(*store_, put_it)));
  EXPECT_EQ(hits_, 1);
  EXPECT_EQ(direct_->get(key_at("k")).value()->version, put_it.version);
}

TEST_F(PostgresFaults, H7_AnAddWhoseReplyWasLostCountsOnce) {
  ASSERT_TRUE(wins(commit_one(*store_, fresh(add(key_at("n"), 5)))));
  once("commit_apart", Fate::drop_reply);
  const auto answer = commit_one(*store_, fresh(add(key_at("n"), 2)));
  ASSERT_TRUE(wins(answer));
  EXPECT_EQ(std::get<Committed>(*answer).numbers.at(0), 7);
  EXPECT_EQ(direct_->get(key_at("n")).value()->value, Value(std::int64_t{7}));
}

TEST_F(PostgresFaults, H7_AnAddThatIsNotFoundIsUnknownAndNotSentAgain) {
  once("commit_apart", Fate::cut);
  EXPECT_EQ(code_of(commit_one(*store_, fresh(add(key_at("n"), 2)))), ErrorCode::unknown);
  EXPECT_EQ(hits_, 1);
  EXPECT_EQ(direct_->get(key_at("n")).value(), std::nullopt);
}

TEST_F(PostgresFaults, WhatCannotTakeEffectTwiceIsSentAgain) {
  const Write first = fresh(put(key_at("k"), Bytes("v"), absent()));
  ASSERT_TRUE(wins(commit_one(*store_, first)));
  once("commit_apart", Fate::cut);
  EXPECT_TRUE(
      wins(commit_one(*store_, fresh(put(key_at("k"), Bytes("w"), unchanged(first.version))))));
  EXPECT_EQ(hits_, 2);
  EXPECT_EQ(direct_->get(key_at("k")).value()->value, Value(Bytes("w")));
}

TEST_F(PostgresFaults, AGroupWhoseReplyWasLostIsFoundWhole) {
  std::vector<Write> writes;
  for (int i = 0; i < 20; ++i) writes.push_back(fresh(put(key_at("g", i), Bytes("v"), absent())));
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  once("commit_apart", Fate::drop_reply);
  for (const auto& answer : store_->commit_each(group)) EXPECT_TRUE(wins(answer));
  EXPECT_EQ(direct_->scan({.partition = {"g", ""}}).value().entries.size(), writes.size());
}

TEST_F(PostgresFaults, ReadingsAreRepeated) {
  ASSERT_TRUE(wins(commit_one(*store_, fresh(put(key_at("k"), Bytes("v"), absent())))));
  for (const Fate fate : {Fate::cut, Fate::drop_reply}) {
    once("get_items", fate);
    EXPECT_TRUE(store_->get(key_at("k")).value().has_value());
    once("scan_items", fate);
    EXPECT_EQ(store_->scan({.partition = {"k", ""}}).value().entries.size(), 1U);
    once("list_items", fate);
    EXPECT_EQ(store_->list({}).value().items.size(), 1U);
    EXPECT_EQ(hits_, 2);
  }
}

TEST_F(PostgresFaults, NoCallOutlastsItsTimeWhenNothingComesBack) {
  const auto hasty = open(through_relay(std::chrono::seconds(1)));
  relay_->decide([](std::string_view) { return Fate::stall; });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of(hasty->get(key_at("k"))), ErrorCode::unavailable);
  EXPECT_FALSE(commit_one(*hasty, fresh(add(key_at("n"), 1))).has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(PostgresFaults, ABackendThatWasEndedWhileItWasIdleIsNoticedBeforeItIsUsed) {
  ASSERT_TRUE(wins(commit_one(*direct_, fresh(add(key_at("n"), 1)))));
  end_backends();
  EXPECT_TRUE(wins(commit_one(*direct_, fresh(add(key_at("n"), 1)))));
  EXPECT_EQ(direct_->get(key_at("n")).value()->value, Value(std::int64_t{2}));
}

TEST_F(PostgresFaults, NothingIsLostOrDoneTwiceWhenBackendsAreEndedInTheMiddle) {
  RestartUnderLoad load([&] { return open(); });
  load.run([&] { end_backends(); }, {.restarts = 3, .rounds = 6});
}

TEST_F(PostgresFaults, ACommitThatIsCancelledByATimeoutOfTheServerIsSentAgain) {
  PostgresOptions hasty = options(std::chrono::seconds(20));
  hasty.connection += "?options=-cstatement_timeout%3D500";
  const auto store = open(hasty);
  ASSERT_TRUE(wins(commit_one(*store, fresh(put(key_at("k"), Bytes("v"), absent())))));
  server_->psql("create function " + schema_ +
                ".slow() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return "
                "new; end $$; create trigger slow before insert on " +
                schema_ + ".items for each row execute function " + schema_ + ".slow()");
  EXPECT_EQ(code_of(commit_one(*store, fresh(add(key_at("n"), 1)))), ErrorCode::unavailable);
  EXPECT_EQ(direct_->get(key_at("n")).value(), std::nullopt);
}

TEST_F(PostgresFaults, WhatFailsAtTheEndOfItsTransactionWasNotCommitted) {
  server_->psql("create function " + schema_ +
                ".refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using "
                "errcode = '40001'; end $$; create constraint trigger refuse after insert on " +
                schema_ + ".items deferrable initially deferred for each row execute function " +
                schema_ + ".refuse()");
  const auto hasty = open(options(std::chrono::seconds(20)));
  EXPECT_EQ(code_of(commit_one(*hasty, fresh(add(key_at("n"), 1)))), ErrorCode::unavailable);
  EXPECT_EQ(direct_->get(key_at("n")).value(), std::nullopt);
}

class PostgresRestart : public ::testing::Test {};

TEST_F(PostgresRestart, NothingAcknowledgedIsLostAndNothingIsAppliedTwiceWhenItIsKilledUnderLoad) {
  ONCE_NEEDS_SERVER(PostgresServer);
  PostgresServer server;
  const PostgresOptions options{.connection = server.connection(),
                                .timeout = std::chrono::seconds(30)};
  ASSERT_TRUE(create_postgres_schema(options).has_value());
  RestartUnderLoad load([&] { return open_postgres(options).value(); });
  const auto restart = [&] {
    server.kill();
    server.start();
  };
  load.run(restart, {.restarts = 2, .rounds = 8});
}

}  // namespace
}  // namespace once::testing
