// Groups of commits: their cost in requests, rows that others hold, and pgbouncer between.
#include <map>
#include <thread>

#include "once/claims.h"
#include "once/local.h"
#include "stores/postgres/store_fixture.h"
#include "testing/code_of.h"
#include "testing/stores/server_cases.h"

namespace once::testing {
namespace {

std::vector<Write> puts(int count, const std::string& home) {
  std::vector<Write> writes;
  for (int i = 0; i < count; ++i) {
    writes.push_back(fresh(put(key_at(home + std::to_string(i)), Bytes("v"), absent())));
  }
  return writes;
}

std::vector<Transaction> each_alone(const std::vector<Write>& writes) {
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  return group;
}

class PostgresGroups : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (server_ != nullptr) store_ = open();
  }
  std::uint64_t spent() {
    const std::uint64_t now = store_->counts().requests;
    return now - std::exchange(counted_, now);
  }

  std::unique_ptr<PostgresStore> store_;
  std::uint64_t counted_ = 0;
};

TEST_F(PostgresGroups, AGroupIsOneRequestWhateverItDoes) {
  (void)spent();
  const std::vector<Write> writes = puts(1'000, "g");
  for (const auto& answer : store_->commit_each(each_alone(writes))) EXPECT_TRUE(wins(answer));
  EXPECT_EQ(spent(), 1U);
  std::vector<Write> adds;
  for (int i = 0; i < 100; ++i) adds.push_back(fresh(add(key_at("n"), 1)));
  std::int64_t sum = 0;
  for (const auto& answer : store_->commit_each(each_alone(adds))) {
    ASSERT_TRUE(wins(answer));
    EXPECT_EQ(std::get<Committed>(*answer).numbers.at(0), ++sum);
  }
  EXPECT_EQ(spent(), 1U);
}

TEST_F(PostgresGroups, AClaimItsDuplicateAndItsCompletionAreOneRequestEach) {
  ASSERT_TRUE(LocalClaims(*store_).take("first", {.owner = "me"}).has_value());
  (void)spent();
  claim_and_complete(*store_, [&](ClaimStep) { EXPECT_EQ(spent(), 1U); });
}

TEST_F(PostgresGroups, ADuplicateOfAClaimWritesNothing) {
  const Write first = fresh(put(key_at("k"), Bytes("v"), absent()));
  ASSERT_TRUE(wins(commit_one(*store_, first)));
  const std::string before = server_->psql("select xmin, xmax, ctid from " + schema_ + ".items");
  EXPECT_FALSE(wins(commit_one(*store_, fresh(put(key_at("k"), Bytes("w"), absent())))));
  EXPECT_EQ(server_->psql("select xmin, xmax, ctid from " + schema_ + ".items"), before);
}

// Holds the row of a key in an open transaction for as long as this lives.
class HeldRow {
 public:
  HeldRow(const PostgresServer& server, const std::string& schema, const std::string& home)
      : psql_(::popen(("psql -X -q '" + server.connection() + "' >/dev/null").c_str(), "w")) {
    const std::string sql =
        "begin; select * from " + schema + ".items where home = '" + home + "' for update;\n";
    (void)std::fputs(sql.c_str(), psql_);
    (void)std::fflush(psql_);
    const std::string held =
        "select count(*) from pg_stat_activity where state = 'idle in transaction' and query like "
        "'select * from " +
        schema + ".items%'";
    while (server.psql(held) == "0") std::this_thread::yield();
  }
  ~HeldRow() { ::pclose(psql_); }
  HeldRow(const HeldRow&) = delete;
  HeldRow& operator=(const HeldRow&) = delete;

 private:
  FILE* const psql_;
};

TEST_F(PostgresGroups, H37_ARowThatAnotherTransactionHoldsHoldsUpItsCommitOnly) {
  const auto hasty = open(options(std::chrono::seconds(30)));
  const Write held = fresh(put(key_at("held"), Bytes("v"), absent()));
  ASSERT_TRUE(wins(commit_one(*hasty, held)));
  const HeldRow row(*server_, schema_, "held");
  std::vector<Write> writes = puts(100, "free");
  writes.insert(writes.begin() + 50,
                fresh(put(key_at("held"), Bytes("w"), unchanged(held.version))));
  const auto answers = hasty->commit_each(each_alone(writes));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (i == 50) {
      EXPECT_EQ(code_of(answers[i]), ErrorCode::unavailable);
    } else {
      EXPECT_TRUE(wins(answers[i])) << i;
    }
  }
  // From now on it goes apart.
  EXPECT_NE(hasty->place(key_at("held")), store_->place(key_at("held")));
  EXPECT_TRUE(wins(commit_one(*store_, fresh(put(key_at("other"), Bytes("v"), absent())))));
}

TEST_F(PostgresGroups, ACommitWaitsForARowAsLongAsItsCallMay) {
  const Write first = fresh(add(key_at("n"), 1));
  ASSERT_TRUE(wins(commit_one(*store_, first)));
  auto row = std::make_unique<HeldRow>(*server_, schema_, "n");
  std::thread other([&] { EXPECT_TRUE(wins(commit_one(*store_, fresh(add(key_at("n"), 1))))); });
  const std::string waiting =
      "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%" +
      schema_ + "%'";
  while (server_->psql(waiting) == "0") std::this_thread::yield();
  row.reset();
  other.join();
  EXPECT_EQ(store_->get(key_at("n")).value()->value, Value(std::int64_t{2}));
}

TEST_F(PostgresGroups, WhatOneOfAGroupMayNotDoIsNotTheOthersFault) {
  server_->psql("alter table " + schema_ + ".items add check (length(bytes) < 10) not valid");
  std::vector<Write> writes = puts(3, "k");
  writes[1].value = Bytes("far too long for this table");
  const auto answers = open()->commit_each(each_alone(writes));
  EXPECT_TRUE(wins(answers[0])) << (answers[0] ? "lost" : answers[0].error().message);
  EXPECT_FALSE(answers[1].has_value());
  EXPECT_TRUE(wins(answers[2])) << (answers[2] ? "lost" : answers[2].error().message);
}

TEST_F(PostgresGroups, ManyProcessesThatClaimTheSameKeysHaveOneWinnerEach) {
  constexpr int kThreads = 6;
  constexpr int kKeys = 200;
  std::vector<std::thread> threads;
  std::atomic<int> won = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const auto own = open();
      const std::vector<Write> writes = puts(kKeys, "k");
      for (const auto& answer : own->commit_each(each_alone(writes))) {
        ASSERT_TRUE(answer.has_value()) << answer.error().message;
        if (committed(*answer)) ++won;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, kKeys);
}

class PostgresBehindPgbouncer : public PostgresTest {};

TEST_F(PostgresBehindPgbouncer, InTransactionModeEverythingWorksOnFewerConnections) {
  ONCE_NEEDS_SERVER(Pgbouncer);
  const Pgbouncer bouncer(*server_);
  PostgresOptions options = this->options();
  options.connection = bouncer.connection();
  const auto store = open(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Write> writes = puts(50, "t" + std::to_string(t) + "_");
      for (const auto& answer : store->commit_each(each_alone(writes))) EXPECT_TRUE(wins(answer));
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(wins(commit_one(*store, fresh(add(key_at("n"), 1)))));
        EXPECT_TRUE(store->get(key_at("n")).has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->get(key_at("n")).value()->value, Value(std::int64_t{160}));
  EXPECT_TRUE(check_postgres_schema(options).has_value());
}

}  // namespace
}  // namespace once::testing
