// A streaming standby that follows asynchronously: what is said of it, and what happens when it
// takes over.
#include <gtest/gtest.h>

#include <thread>

#include "once/open.h"
#include "once/postgres_store.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/postgres.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class PostgresFailover : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(PostgresServer);
    primary_ = std::make_unique<PostgresServer>();
    ASSERT_TRUE(create_table(primary_->address()).has_value());
    standby_ = std::make_unique<PostgresServer>(PostgresParts{.primary = primary_.get()});
    await_rows("select count(*) from pg_stat_replication where state = 'streaming'", "1");
  }

  void await_rows(const std::string& sql, const std::string& wanted) const {
    while (primary_->psql(sql) != wanted) std::this_thread::sleep_for(5ms);
  }
  void await_replay() const {
    const std::string flushed = primary_->psql("select pg_current_wal_lsn()");
    const std::string at = flushed.substr(0, flushed.find('\n'));
    await_rows("select count(*) from pg_stat_replication where replay_lsn >= '" + at + "'", "1");
  }
  std::string both() const {
    return "postgres://once@127.0.0.1:" + std::to_string(primary_->port()) +
           ",127.0.0.1:" + std::to_string(standby_->port()) +
           "/postgres?target_session_attrs=read-write";
  }

  // With a sentence that says what to do.
  void expect_refused() const {
    const auto opened = open_postgres({.connection = standby_->connection()});
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
    EXPECT_TRUE(holds(opened.error().message, "target_session_attrs=read-write"))
        << opened.error().message;
    const Result<void> made = create_table(standby_->address());
    ASSERT_FALSE(made.has_value());
    EXPECT_TRUE(holds(made.error().message, "primary")) << made.error().message;
  }

  std::unique_ptr<PostgresServer> primary_;
  std::unique_ptr<PostgresServer> standby_;
};

TEST_F(PostgresFailover, AStandbyIsRefusedAndSaidAtTheStartOfItsPrimaryUnlessItIsSynchronous) {
  expect_refused();
  const auto store = open_postgres({.connection = primary_->connection()});
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_TRUE((*store)->limits().may_forget);
  const std::string danger = "MAY LOSE CLAIMS: its standbys are asynchronous";
  EXPECT_TRUE(holds((*store)->describe(), danger)) << (*store)->describe();
  const ServerProcess server(primary_->address());
  EXPECT_TRUE(holds(server.ready_line(), danger)) << server.ready_line();
  primary_->psql("alter system set synchronous_standby_names = '*'");
  primary_->psql("select pg_reload_conf()");
  await_rows("select count(*) from pg_stat_replication where sync_state = 'sync'", "1");
  const auto waiting = open_postgres({.connection = primary_->connection()});
  ASSERT_TRUE(waiting.has_value()) << waiting.error().message;
  EXPECT_FALSE((*waiting)->limits().may_forget) << (*waiting)->describe();
}

TEST_F(PostgresFailover, AServerGoesOnAtAStandbyThatWasPromotedAndKnowsWhatHadReachedIt) {
  const ServerProcess server(both(), {"--request-timeout", "5s"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  const auto call = [&](const char* method, const char* target, const char* body) {
    RawHttp peer(server.port());
    return peer.call(method, target, body).value_or(RawAnswer{});
  };
  const char* const event = R"({"events":[{"data":1}]})";
  for (int i = 0; i < 20; ++i) ASSERT_EQ(call("POST", "/v1/logs/s", event).status, 201);
  ASSERT_EQ(call("POST", "/v1/seen", R"({"ids":["i"]})").status, 200);
  await_replay();
  primary_->kill();
  // With no primary nothing is written, and that is known: no connection is there to send it on. A
  // statement that was sent on one that is lost is unknown.
  const RawAnswer refused = call("POST", "/v1/claims/c", "{}");
  EXPECT_TRUE(refused.status == 503 || refused.status == 504) << refused.body;
  standby_->promote();
  RawAnswer seen;
  while ((seen = call("POST", "/v1/seen", R"({"ids":["i"]})")).status != 200) {
    ASSERT_TRUE(seen.status == 503 || seen.status == 504) << seen.body;
  }
  EXPECT_TRUE(seen.body.starts_with(R"({"first":[false])")) << seen.body;
  const RawAnswer appended = call("POST", "/v1/logs/s", event);
  EXPECT_EQ(appended.status, 201);
  EXPECT_TRUE(holds(appended.body, "21")) << appended.body;
  EXPECT_EQ(call("GET", "/readyz", "").status, 200);
}

}  // namespace
}  // namespace once::testing
