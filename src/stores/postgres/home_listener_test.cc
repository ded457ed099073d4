// What is told of the commits of others, without a look at the store.
#include "stores/postgres/home_listener.h"

#include "once/once.h"
#include "stores/postgres/store_fixture.h"
#include "testing/told_homes.h"

namespace once::testing {
namespace {

class PostgresWatch : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (server_ == nullptr) return;
    store_ = open();
    watch_ = std::make_unique<postgres::HomeListener>(options());
  }
  void TearDown() override { watch_.reset(); }

  void start() { watch_->start(told_.listener()); }

  // Back when its row is there: then it is told once.
  void watch(const std::string& home) {
    const std::ptrdiff_t before = told_.written(home);
    watch_->add(home);
    told_.await_written(home, before + 1);
  }
  void write(const std::string& home) const {
    ASSERT_TRUE(wins(commit_one(*store_, fresh(add(key_at(home), 1)))));
  }
  void end_listening_backend() const {
    EXPECT_NE(server_->psql("select count(pg_terminate_backend(pid)) from pg_stat_activity where "
                            "application_name = 'once listens: " +
                            schema_ + "'"),
              "0");
  }

  ToldHomes told_;
  std::unique_ptr<PostgresStore> store_;
  std::unique_ptr<postgres::HomeListener> watch_;
};

TEST_F(PostgresWatch, WhatAnotherWritesToAHomeIsToldAtOnceAndNothingElseIs) {
  start();
  told_.await_anything(1);
  EXPECT_TRUE(told_.await_state(0).has_value());
  EXPECT_TRUE(watch_->is_live());
  watch("a");
  for (int i = 2; i < 12; ++i) {
    write("b");
    write("a");
    told_.await_written("a", i);
  }
  EXPECT_EQ(told_.written("b"), 0);
  EXPECT_EQ(told_.written("a"), 11);
}

TEST_F(PostgresWatch, WhatIsWatchedBeforeTheBeginningIsTold) {
  watch_->add("a");
  start();
  told_.await_anything(1);
  write("a");
  told_.await_written("a", 1);
}

TEST_F(PostgresWatch, AHomeIsToldUntilItWasRemovedAsOftenAsAdded) {
  start();
  told_.await_anything(1);
  watch("a");
  watch_->add("a");
  watch_->remove("a");
  write("a");
  told_.await_written("a", 2);
  watch_->remove("a");
  watch("b");  // The row of the other is gone with it.
  EXPECT_EQ(server_->psql("select convert_from(home, 'UTF8') from " + schema_ + ".watches"), "b");
  write("a");
  write("b");
  told_.await_written("b", 2);
  EXPECT_EQ(told_.written("a"), 2);
}

TEST_F(PostgresWatch, ManyHomesOfOneCommitAreToldTogether) {
  start();
  told_.await_anything(1);
  constexpr int kHomes = 300;
  std::vector<Write> writes;
  for (int i = 0; i < kHomes; ++i) {
    watch_->add("h" + std::to_string(i));
    writes.push_back(fresh(add(key_at("h" + std::to_string(i)), 1)));
  }
  for (int i = 0; i < kHomes; ++i) told_.await_written("h" + std::to_string(i), 1);
  ASSERT_TRUE(wins(store_->commit(writes)));
  told_.await_anything(2);
}

TEST_F(PostgresWatch, AnEndedConnectionIsOpenedAgainAndWhatWasMissedMeanwhileIsLookedFor) {
  start();
  told_.await_anything(1);
  watch("a");
  for (int round = 0; round < 3; ++round) {
    end_listening_backend();
    write("a");  // May be told, or not.
    told_.await_anything(round + 2);
    const std::ptrdiff_t before = told_.written("a");
    write("a");
    told_.await_written("a", before + 1);
  }
  EXPECT_FALSE(told_.await_state(1).has_value());
  EXPECT_TRUE(told_.await_state(2).has_value());
}

TEST_F(PostgresWatch, AServerThatIsNotThereYetIsWaitedFor) {
  PostgresOptions elsewhere = options();
  elsewhere.connection = "postgres://once@127.0.0.1:1/postgres";
  watch_ = std::make_unique<postgres::HomeListener>(elsewhere);
  start();
  EXPECT_FALSE(told_.await_state(0).has_value());
  EXPECT_FALSE(watch_->is_live());
}

TEST_F(PostgresWatch, BehindAPoolerItIsRefusedAndNothingListensThere) {
  ONCE_NEEDS_SERVER(Pgbouncer);
  const Pgbouncer bouncer(*server_);
  PostgresOptions through = options();
  through.connection = bouncer.connection();
  watch_ = std::make_unique<postgres::HomeListener>(through);
  start();
  const Result<void> state = told_.await_state(0);
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().code, ErrorCode::unsupported);
  EXPECT_NE(state.error().message.find("pooler"), std::string::npos) << state.error().message;
  EXPECT_FALSE(watch_->is_live());
}

TEST_F(PostgresWatch, ASchemaOfAnEarlierVersionIsSaidWithTheCommandThatHelps) {
  server_->psql("drop function " + schema_ + ".watch_homes");
  start();
  const Result<void> state = told_.await_state(0);
  ASSERT_FALSE(state.has_value());
  EXPECT_NE(state.error().message.find("once table create"), std::string::npos)
      << state.error().message;
  write("a");
  ASSERT_TRUE(create_postgres_schema(options()).has_value());
  EXPECT_TRUE(told_.await_state(1).has_value());  // It tries again by itself.
}

TEST_F(PostgresWatch, WhatIsAppliedInATransactionOfAUserIsToldWhenThatIsCommitted) {
  start();
  told_.await_anything(1);
  Once once(open());
  const std::string home = logs::stream("default", "sold").home;
  watch(home);
  const auto sealed = [&] {
    return std::get<effects::Sealed>(once.prepare(Effects().append("sold", "lamp")).value()).token;
  };
  const auto applied = [&](const std::string& before, const std::string& after) {
    return server_->psql("begin; " + before + " select " + schema_ + ".apply('" + sealed() +
                         "'); " + after);
  };
  EXPECT_EQ(applied("", "rollback"), "");
  EXPECT_EQ(applied("", "commit"), "");
  told_.await_written(home, 2);
  EXPECT_EQ(applied("set local once.notify = off;", "commit"), "");
  EXPECT_EQ(applied("", "commit"), "");
  told_.await_written(home, 3);
  EXPECT_EQ(told_.written(home), 3);
  EXPECT_EQ(once.log().ends("sold").value().next, 4);
}

TEST_F(PostgresWatch, WhatHasExpiredIsRemovedByTheNextWhoWatches) {
  start();
  told_.await_anything(1);
  server_->psql("insert into " + schema_ + ".watches values ('left', 1, 1)");
  write("left");
  watch("a");
  EXPECT_EQ(server_->psql("select count(*) from " + schema_ + ".watches"), "1");
}

}  // namespace
}  // namespace once::testing
