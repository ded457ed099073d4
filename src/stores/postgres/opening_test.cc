// Servers, roles and schemas that cannot be used, and what is said about them.
#include "once/open.h"
#include "stores/postgres/startup.h"
#include "stores/postgres/store_fixture.h"
#include "testing/code_of.h"

namespace once::testing {
namespace {

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class PostgresOpening : public PostgresTest {
 protected:
  // "CODE: message", or nothing if it opens.
  std::string complaint(const PostgresOptions& options) const {
    const auto store = open_postgres(options);
    return store ? "" : std::string(name_of(store.error().code)) + ": " + store.error().message;
  }
  PostgresOptions as(const std::string& role) const {
    PostgresOptions options = this->options();
    options.connection = server_->connection(role);
    return options;
  }
  std::string sql(const std::string& text) const { return server_->psql(text); }
};

TEST_F(PostgresOpening, ASchemaThatIsNotThereIsSaidWithTheCommandThatMakesIt) {
  PostgresOptions options = this->options();
  options.schema = "nothing_here";
  const std::string said = complaint(options);
  EXPECT_TRUE(said.starts_with("unavailable: ")) << said;
  EXPECT_TRUE(holds(said, "once table create --store postgres://")) << said;
}

TEST_F(PostgresOpening, CreatingMayBeRepeatedAndKeepsWhatIsThere) {
  ASSERT_TRUE(wins(commit_one(*open(), fresh(put(key_at("k"), Bytes("v"), absent())))));
  EXPECT_TRUE(create_postgres_schema(options()).has_value());
  EXPECT_TRUE(open()->get(key_at("k")).value().has_value());
  EXPECT_TRUE(holds(check_postgres_schema(options()).value(), "format 1"));
}

TEST_F(PostgresOpening, WhatIsPrintedIsWhatIsRun) {
  PostgresOptions other = options();
  other.schema = schema_ + "_printed";
  EXPECT_EQ(sql(postgres_schema_sql(other).value()), "");
  EXPECT_TRUE(wins(commit_one(*open(other), fresh(put(key_at("k"), Bytes("v"), absent())))));
}

TEST_F(PostgresOpening, ARoleMayCallTheFunctionsOnceItWasNamedAndNothingElse) {
  const std::string role = "client_of_" + schema_;
  sql("create role " + role + " login");
  const std::string said = complaint(as(role));
  EXPECT_TRUE(said.starts_with("denied: ")) << said;
  EXPECT_TRUE(holds(said, "once table create --grant ROLE")) << said;
  EXPECT_EQ(code_of(check_postgres_schema(as(role))), ErrorCode::denied);
  const Result<void> granted = create_postgres_schema(options(), role);
  ASSERT_TRUE(granted.has_value()) << granted.error().message;
  const auto store = open(as(role));
  EXPECT_TRUE(wins(commit_one(*store, fresh(put(key_at("k"), Bytes("v"), absent())))));
  EXPECT_TRUE(store->get(key_at("k")).value().has_value());
  EXPECT_TRUE(store->sweep(10).has_value());
  EXPECT_TRUE(check_postgres_schema(as(role)).has_value());
  for (const char* const table : {"items", "meta", "secret", "watches"}) {
    EXPECT_TRUE(holds(sql("set role " + role + "; select * from " + schema_ + "." + table),
                      "permission denied"));
  }
}

TEST_F(PostgresOpening, ARoleThatMayNotMakeASchemaIsTold) {
  const std::string role = "maker_of_" + schema_;
  sql("create role " + role + " login");
  PostgresOptions options = as(role);
  options.schema = "not_made";
  const Result<void> made = create_postgres_schema(options);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::denied);
  EXPECT_TRUE(holds(made.error().message, "--print")) << made.error().message;
}

TEST_F(PostgresOpening, ARoleThatIsNotThereIsDenied) {
  EXPECT_TRUE(complaint(as("nobody_of_that_name")).starts_with("denied: "));
}

TEST_F(PostgresOpening, AServerThatIsNotThereIsUnavailable) {
  PostgresOptions options = this->options();
  options.connection = "postgres://once@127.0.0.1:1/postgres";
  EXPECT_TRUE(complaint(options).starts_with("unavailable: "));
}

TEST_F(PostgresOpening, WhatTakesNoWritesIsRefused) {
  const std::string role = "reader_" + schema_;
  sql("create role " + role + " login superuser; alter role " + role +
      " set default_transaction_read_only = on");
  const std::string said = complaint(as(role));
  EXPECT_TRUE(said.starts_with("unsupported: ")) << said;
  EXPECT_TRUE(holds(said, "default_transaction_read_only")) << said;
}

TEST_F(PostgresOpening, ASchemaOfANewerVersionIsRefusedAndNotChanged) {
  sql("update " + schema_ + ".meta set format = 2");
  const std::string said = complaint(options());
  EXPECT_TRUE(said.starts_with("unsupported: ")) << said;
  EXPECT_TRUE(holds(said, "newer version of Once")) << said;
  EXPECT_EQ(code_of(create_postgres_schema(options())), ErrorCode::unsupported);
  EXPECT_EQ(code_of(check_postgres_schema(options())), ErrorCode::unsupported);
}

TEST_F(PostgresOpening, AMissingFunctionIsFoundByTheCheck) {
  sql("drop function " + schema_ + ".sweep_items");
  EXPECT_EQ(code_of(check_postgres_schema(options())), ErrorCode::invalid);
}

TEST_F(PostgresOpening, FunctionsOfAnEarlierVersionAreFoundByTheCheckAndReplaced) {
  sql("create or replace function " + schema_ +
      ".schema_revision() returns integer language sql immutable as 'select 1'");
  const Result<std::string> checked = check_postgres_schema(options());
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().code, ErrorCode::invalid);
  EXPECT_TRUE(holds(checked.error().message, "run once table create")) << checked.error().message;
  ASSERT_TRUE(create_postgres_schema(options()).has_value());
  EXPECT_TRUE(holds(check_postgres_schema(options()).value(), "functions of revision 2"));
}

TEST_F(PostgresOpening, WhatMayBeLostIsSaid) {
  EXPECT_TRUE(holds(open()->describe(), "synced before every answer"));
  EXPECT_FALSE(open()->limits().may_forget);
  const std::string role = "hasty_" + schema_;
  sql("create role " + role + " login superuser; alter role " + role +
      " set synchronous_commit = off");
  const auto store = open(as(role));
  EXPECT_TRUE(store->limits().may_forget);
  EXPECT_TRUE(holds(store->describe(), "MAY LOSE CLAIMS: synchronous_commit is off"));
  EXPECT_TRUE(postgres::dangers_of({}).empty());
  EXPECT_EQ(postgres::dangers_of({.fsync = false}).size(), 1U);
  EXPECT_EQ(postgres::dangers_of({.standbys = 1}).size(), 1U);
  EXPECT_TRUE(postgres::dangers_of({.synchronous_standbys = "*", .standbys = 1}).empty());
}

TEST(PostgresAddress, ASchemaIsAPlainName) {
  for (const char* const name : {"", "a b", "1st", "Once", "pg_once", "a\"b"}) {
    EXPECT_EQ(code_of(open_postgres({.connection = "postgres://h/d", .schema = name})),
              ErrorCode::invalid);
  }
}

TEST(PostgresAddress, APasswordIsRefusedWhereItWouldBePrinted) {
  for (const char* const address :
       {"postgres://u:secr@et@h/d", "postgres://u@h/d?password=secret"}) {
    const auto opened = open_store(address);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, ErrorCode::invalid);
    EXPECT_FALSE(holds(opened.error().message, "secr")) << opened.error().message;
  }
}

TEST(PostgresAddress, AnOptionThatNobodyKnowsIsRefused) {
  EXPECT_EQ(code_of(open_store("postgres://u@127.0.0.1:1/d?colour=red")), ErrorCode::invalid);
  EXPECT_EQ(code_of(open_store("postgres://u@127.0.0.1:1/d?timeout=no")), ErrorCode::invalid);
  EXPECT_EQ(code_of(open_store("postgres:u")), ErrorCode::invalid);
}

}  // namespace
}  // namespace once::testing
