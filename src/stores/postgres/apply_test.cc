// Prepared effects, applied in transactions of their users: on a real PostgreSQL.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <array>
#include <memory>
#include <thread>

#include "once/blocking_driver.h"
#include "once/once.h"
#include "once/postgres_store.h"
#include "primitives/recorded.h"
#include "stores/postgres/token.h"
#include "testing/servers/needs.h"
#include "testing/servers/postgres.h"

namespace once {
namespace {

using namespace std::chrono_literals;
using effects::Made;
using effects::Sealed;

// What a statement came to. `state` is empty if it succeeded.
struct Came {
  std::string state;
  std::string message;
  std::string detail;
  std::string value;  // Of the first row and column.
};

// A user of the database, with a connection and transactions of their own.
class User {
 public:
  explicit User(const std::string& connection) : connection_(PQconnectdb(connection.c_str())) {
    EXPECT_EQ(PQstatus(connection_), CONNECTION_OK) << PQerrorMessage(connection_);
    run("set client_min_messages = error");
  }
  ~User() { PQfinish(connection_); }
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  Came run(const std::string& sql) { return came_of(PQexec(connection_, sql.c_str())); }
  Came apply(const std::string& token, const std::string& schema = "once") {
    const std::array<const char*, 1> values = {token.c_str()};
    const std::string sql = "select " + schema + ".apply($1)";
    return came_of(
        PQexecParams(connection_, sql.c_str(), 1, nullptr, values.data(), nullptr, nullptr, 0));
  }

 private:
  static Came came_of(PGresult* result) {
    const auto field = [&](int code) {
      const char* text = PQresultErrorField(result, code);
      return std::string(text != nullptr ? text : "");
    };
    Came came{field(PG_DIAG_SQLSTATE), field(PG_DIAG_MESSAGE_PRIMARY),
              field(PG_DIAG_MESSAGE_DETAIL), ""};
    if (PQntuples(result) > 0) came.value = PQgetvalue(result, 0, 0);
    PQclear(result);
    return came;
  }

  PGconn* const connection_;
};

class PostgresApply : public ::testing::Test {
 protected:
  static testing::PostgresServer& server() {
    static testing::PostgresServer shared;
    return shared;
  }
  static PostgresOptions options(const std::string& schema = "once") {
    return {.connection = server().connection(), .schema = schema};
  }

  void SetUp() override {
    ONCE_NEEDS_SERVER(testing::PostgresServer);
    server().psql("drop schema if exists once cascade; drop table if exists orders");
    server().psql("create table orders (number integer)");
    once_ = opened("once");
    user_ = std::make_unique<User>(server().connection());
  }

  static std::unique_ptr<Once> opened(const std::string& schema) {
    create_postgres_schema(options(schema)).value();
    return std::make_unique<Once>(open_postgres(options(schema)).value());
  }

  std::string token(Effects effects, const std::string& id = "") {
    return std::get<Sealed>(once_->prepare(std::move(effects), id).value()).token;
  }
  static Effects sale() {
    return Effects()
        .append("sold", "lamp")
        .append("sold", "chair")
        .put("last", {"lamp", "text/plain"}, documents::IfAbsent{})
        .add("revenue", 1900);
  }
  std::int64_t revenue() {
    const auto found = once_->tallies().read("revenue").value();
    return found ? std::get<std::int64_t>(found->value) : 0;
  }
  std::int64_t next(std::string_view stream = "sold") {
    return once_->log().ends(stream).value().next;
  }
  std::string orders() { return user_->run("select count(*) from orders").value; }
  Made committed(Effects effects, const std::string& id) {
    return std::get<Made>(once_->commit(std::move(effects), id).value());
  }

  std::unique_ptr<Once> once_;
  std::unique_ptr<User> user_;
};

TEST_F(PostgresApply, EffectsCommitTogetherWithTheUsersOwnRows) {
  const std::string made = token(sale(), "i");
  EXPECT_EQ(next(), 1);
  user_->run("begin; insert into orders values (1)");
  const Came came = user_->apply(made);
  EXPECT_EQ(came.state, "") << came.message;
  EXPECT_EQ(next(), 1) << "it was seen before the commit";
  EXPECT_EQ(revenue(), 0);
  user_->run("commit");
  EXPECT_EQ(orders(), "1");
  EXPECT_EQ(next(), 3);
  EXPECT_EQ(revenue(), 1900);
  const Made again = committed(sale(), "i");
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.appended.at(1).first, 2);
  EXPECT_EQ(again.etags.at(0), once_->documents().get("last").value()->etag);
  EXPECT_TRUE(std::holds_alternative<Made>(once_->prepare(sale(), "i").value()));
}

TEST_F(PostgresApply, ARollbackUndoesItAndTheTokenMayBeAppliedAgain) {
  const std::string made = token(sale());
  user_->run("begin; insert into orders values (1)");
  EXPECT_EQ(user_->apply(made).state, "");
  user_->run("rollback");
  EXPECT_EQ(orders(), "0");
  EXPECT_EQ(next(), 1);
  EXPECT_EQ(revenue(), 0);
  EXPECT_FALSE(once_->documents().get("last").value().has_value());
  EXPECT_EQ(user_->apply(made).state, "");
  EXPECT_EQ(next(), 3);
}

// It must not look like a success: the rows beside it would be there twice.
TEST_F(PostgresApply, ATokenIsAppliedOnce) {
  for (const Effects& effects : {sale(), Effects().add("revenue", 5)}) {
    const std::string made = token(effects);
    EXPECT_EQ(user_->apply(made).state, "");
    const Came again = user_->apply(made);
    EXPECT_EQ(again.state, "ON412");
    EXPECT_EQ(again.message, "this token of once was applied already");
    EXPECT_EQ(again.detail, "id");
  }
  EXPECT_EQ(revenue(), 1905);
  const std::string made = token(Effects().add("revenue", 5));
  user_->run("begin");
  EXPECT_EQ(user_->apply(made).state, "");
  EXPECT_EQ(user_->apply(made).state, "ON412");
  user_->run("rollback");
  EXPECT_EQ(revenue(), 1905);
}

TEST_F(PostgresApply, WhatNoLongerHoldsIsNamed) {
  const std::string by_log = token(sale());
  ASSERT_TRUE(once_->log().append("sold", {{"other"}}));
  EXPECT_EQ(user_->apply(by_log).detail, "logs[0]");
  const std::string by_document =
      token(Effects().append("a", "e").put("last", {"lamp", "text/plain"}, documents::IfAbsent{}));
  ASSERT_TRUE(once_->documents().put("last", {"x", "text/plain"}, documents::IfAbsent{}));
  const Came came = user_->apply(by_document);
  EXPECT_EQ(came.state, "ON412");
  EXPECT_EQ(came.detail, "docs[0]");
  EXPECT_EQ(next("a"), 1);
  const std::string by_tally = token(Effects().append("a", "e").add("revenue", 1));
  ASSERT_TRUE(once_->tallies().merge("revenue", {.shape = {.kind = TallyKind::max}, .input = 1}));
  EXPECT_EQ(user_->apply(by_tally).detail, "tallies[0]");
  EXPECT_EQ(next("a"), 1);
}

TEST_F(PostgresApply, ARunWhoseWorkAppliesItsOutcomeIsDone) {
  const auto ran = once_->run("order-1", {}, [&](Attempt& attempt) -> Result<Effects> {
    const auto prepared = attempt.prepare(sale().result("placed"));
    user_->run("begin; insert into orders values (1)");
    EXPECT_EQ(user_->apply(std::get<Sealed>(*prepared).token).state, "");
    user_->run("commit");
    return Effects();
  });
  ASSERT_TRUE(ran.has_value()) << ran.error().error.message;
  EXPECT_EQ(ran->result, "placed");
  EXPECT_EQ(ran->made.appended.at(0).first, 1);
  EXPECT_EQ(revenue(), 1900);
  const auto again = once_->run("order-1", {}, [](Attempt&) -> Result<Effects> {
    ADD_FAILURE() << "it ran again";
    return Effects();
  });
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->result, "placed");
}

TEST_F(PostgresApply, AClaimThatWasForgottenKeepsItsTokenFromBeingApplied) {
  const auto ran = once_->run("order-1", {}, [&](Attempt& attempt) -> Result<Effects> {
    const auto prepared = attempt.prepare(sale().result("placed"));
    EXPECT_TRUE(once_->claims().forget("order-1"));
    const Came came = user_->apply(std::get<Sealed>(*prepared).token);
    EXPECT_EQ(came.state, "ON412");
    EXPECT_EQ(came.detail, "claim");
    return Effects();
  });
  EXPECT_EQ(ran.error().why, NotRun::Why::fenced);
  EXPECT_EQ(revenue(), 0);
}

TEST_F(PostgresApply, OnlyTokensOfThisDatabaseAndSchemaAreTaken) {
  const std::string made = token(sale());
  std::string changed = made;
  changed[made.size() / 2] = changed[made.size() / 2] == 'A' ? 'B' : 'A';
  for (const std::string& wrong :
       {changed, made + "A", made.substr(1), made.substr(0, made.size() - 1), std::string("x"),
        std::string(), std::string("o1..99999999999999~"), made.substr(made.size() - 43)}) {
    EXPECT_EQ(user_->apply(wrong).state, "ON401") << wrong;
  }
  EXPECT_EQ(user_->run("select once.apply(null)").state, "ON401");
  opened("other");
  EXPECT_EQ(user_->apply(made, "other").state, "ON401");
  // A copy has the same secret.
  server().psql("drop database if exists copy");
  once_.reset();
  user_.reset();
  server().psql("create database copy template postgres");
  User there(server().connection() + "?dbname=copy");
  EXPECT_EQ(there.apply(made).state, "ON401");
  User here(server().connection());
  EXPECT_EQ(here.apply(made).state, "");
}

TEST_F(PostgresApply, ATokenThatIsTooOldIsRefused) {
  const std::string hex =
      user_->run("select encode(secret, 'hex') || place from once.token_secret()").value;
  Bytes secret;
  for (std::size_t i = 0; i < 64; i += 2) {
    secret += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  const postgres::TokenSealer sealer(secret, hex.substr(64));
  Write write = put({{"home", ""}, 0}, Bytes("x"), absent());
  write.version = {7};
  const std::vector<std::string> parts = {"docs[0]"};
  const Time now = once_->now();
  EXPECT_EQ(user_->apply(sealer.seal({&write, 1}, parts, now - 5s)).state, "ON410");
  EXPECT_EQ(user_->apply(sealer.seal({&write, 1}, parts, now + 60s)).state, "");
}

TEST_F(PostgresApply, ARoleThatMayUseTheSchemaMayApplyTokensAndNothingElse) {
  server().psql("drop owned by shop; drop role if exists shop");
  server().psql("create role shop login; grant usage on schema once to shop");
  User shop(server().connection("shop"));
  EXPECT_EQ(shop.apply(token(sale())).state, "");
  EXPECT_EQ(next(), 3);
  for (const char* sql :
       {"select * from once.items", "select * from once.secret",
        "select * from once.token_secret()", "select once.hmac('', '')", "delete from once.items",
        "select * from once.get_items(0, '{}', '{}', '{}')"}) {
    EXPECT_EQ(shop.run(sql).state, "42501") << sql;
  }
  server().psql("drop owned by shop; drop role shop");
}

// An open transaction has the next index, so that others cannot know theirs.
TEST_F(PostgresApply, AnOpenTransactionHoldsUpItsOwnStreamAlone) {
  User& user = *user_;
  user.run("begin");
  ASSERT_EQ(user.apply(token(Effects().append("sold", "lamp"))).state, "");
  EXPECT_EQ(std::get<Appended>(once_->log().append("other", {{"e"}}, {}, 10s).value()).first, 1);
  EXPECT_EQ(once_->log().read("sold").value().events.size(), 0U) << "reading does not wait";
  const auto late = once_->log().append("sold", {{"chair"}}, {}, 3s);
  ASSERT_FALSE(late.has_value());
  EXPECT_TRUE(is_transient(late.error())) << late.error().message;
  std::jthread waits([&] {
    const auto placed = once_->log().append("sold", {{"chair"}}, {.batch = "b"}, 30s);
    EXPECT_EQ(std::get<Appended>(placed.value()).first, 2) << "or the first one was not undone";
  });
  EXPECT_EQ(std::get<Appended>(once_->log().append("other", {{"e"}}, {}, 10s).value()).first, 2);
  user.run("commit");
  waits.join();
  EXPECT_EQ(once_->log().read("sold").value().events.front().data, "lamp");
}

TEST_F(PostgresApply, TheUsersOwnLockTimeoutBoundsTheWait) {
  User first(server().connection());
  const std::string one = token(Effects().append("sold", "lamp"));
  const std::string other = token(Effects().append("sold", "chair"));
  first.run("begin");
  ASSERT_EQ(first.apply(one).state, "");
  user_->run("set lock_timeout = '100ms'");
  EXPECT_EQ(user_->apply(other).state, "55P03");
  EXPECT_EQ(user_->run("show lock_timeout").value, "100ms");
  first.run("commit");
  EXPECT_EQ(user_->apply(other).state, "ON412");
}

TEST_F(PostgresApply, ManyTokensAddToOneTallyAtOnce) {
  constexpr int kUsers = 8;
  ASSERT_EQ(user_->apply(token(Effects().add("revenue", 1))).state, "");
  std::vector<std::string> tokens;
  for (int i = 0; i < kUsers; ++i) tokens.push_back(token(Effects().add("revenue", 10)));
  std::vector<std::jthread> users;
  for (int i = 0; i < kUsers; ++i) {
    users.emplace_back([&made = tokens[static_cast<std::size_t>(i)]] {
      User user(server().connection());
      user.run("begin");
      EXPECT_EQ(user.apply(made).state, "");
      user.run("commit");
    });
  }
  users.clear();
  EXPECT_EQ(revenue(), 81);
}

TEST_F(PostgresApply, ASumThatWouldOverflowIsAnErrorOfPostgres) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  ASSERT_EQ(user_->apply(token(Effects().add("revenue", kMost))).state, "");
  const Came came = user_->apply(token(Effects().add("revenue", 1)));
  EXPECT_EQ(came.state, "22003");
  EXPECT_EQ(came.detail, "tallies[0]");
}

TEST_F(PostgresApply, EveryByteOfKeysAndValuesArrives) {
  Bytes all;
  for (int round = 0; round < 3; ++round) {
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    all += "~.-_";
  }
  for (std::size_t length : {0U, 1U, 2U, 3U, 255U, 780U}) {
    const std::string name = "d" + std::to_string(length);
    const Bytes bytes = all.substr(0, length);
    const documents::Content content{bytes, "application/octet-stream"};
    const std::string made =
        token(Effects().put(name, content, documents::IfAbsent{}).append("sönders~.", bytes));
    EXPECT_EQ(made.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789-_.~"),
              std::string::npos);
    EXPECT_EQ(user_->apply(made).state, "");
    EXPECT_EQ(once_->documents().get(name).value()->content.bytes, bytes);
  }
  EXPECT_EQ(once_->log().read("sönders~.").value().events.back().data, all.substr(0, 780));
}

TEST_F(PostgresApply, DocumentsThatItRemovesAreRecordedByTheTransactionThatAppliesIt) {
  ASSERT_TRUE(once_->documents().put("d", {"x", "text/plain"}, documents::IfAbsent{}).has_value());
  const auto recording = Recording::in({.log = logs::stream("default", "removed"),
                                        .keep = 1h,
                                        .event = [](const Key&) { return Bytes("gone"); }});
  BlockingDriver driver(*once_->store());
  const auto prepared = [&] {
    effects::Request request{.effects = Effects().remove("d")};
    return std::get<Sealed>(driver.run(effects::prepare(request, recording)).value()).token;
  };
  const std::string first = prepared();
  EXPECT_EQ(user_->apply(prepared()).state, "");
  EXPECT_EQ(next("removed"), 2);
  EXPECT_FALSE(once_->documents().get("d").value().has_value());
  const Came second = user_->apply(first);
  EXPECT_EQ(second.state, "ON412");
  EXPECT_EQ(next("removed"), 2);
}

}  // namespace
}  // namespace once
