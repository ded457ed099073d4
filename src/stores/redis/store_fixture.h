// A store on a real server of its own, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "once/redis_store.h"
#include "testing/servers/needs.h"
#include "testing/servers/redis_server.h"
#include "testing/stores/single_writes.h"

namespace once::testing {

class RedisTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(RedisServer);
    server_ = std::make_unique<RedisServer>(arguments());
  }

  virtual std::vector<std::string> arguments() { return {}; }

  std::unique_ptr<RedisStore> open(std::uint16_t port,
                                   Duration timeout = std::chrono::seconds(20)) {
    auto opened = open_redis({.port = port, .timeout = timeout});
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  std::unique_ptr<RedisStore> open() { return open(server_->port()); }

  std::unique_ptr<RedisServer> server_;
};

}  // namespace once::testing
