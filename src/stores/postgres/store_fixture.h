// A store on a real server, which the tests of a program share; each test has a schema of its own.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "once/postgres_store.h"
#include "testing/servers/needs.h"
#include "testing/servers/postgres.h"
#include "testing/stores/single_writes.h"

namespace once::testing {

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(PostgresServer);
    static int count = 0;
    schema_ = "s" + std::to_string(count++);
    server_ = &shared();
    ASSERT_TRUE(create_postgres_schema(options()).has_value());
  }

  static PostgresServer& shared() {
    static PostgresServer server;
    return server;
  }

  // A fifth of it is the time of an attempt. On a busy machine a put took more than four seconds.
  PostgresOptions options(Duration timeout = std::chrono::seconds(60)) const {
    return {.connection = server_->connection(), .schema = schema_, .timeout = timeout};
  }
  std::unique_ptr<PostgresStore> open(const PostgresOptions& options) const {
    auto opened = open_postgres(options);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  std::unique_ptr<PostgresStore> open() const { return open(options()); }

  PostgresServer* server_ = nullptr;
  std::string schema_;
};

}  // namespace once::testing
