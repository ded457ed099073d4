// A store on three masters, for tests.
#pragma once

#include <map>

#include "stores/redis/store_fixture.h"
#include "stores/redis/stored_form.h"
#include "testing/servers/redis_cluster.h"

namespace once::testing {

class RedisClusterFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(RedisCluster);
    for (const auto& server : cluster().servers()) server->cli("flushall");
    store_ = open();
  }

  static RedisCluster& cluster() {
    static RedisCluster shared;
    return shared;
  }
  static std::unique_ptr<RedisStore> open() {
    return open_redis({.port = cluster().port(), .timeout = std::chrono::seconds(20)}).value();
  }

  // One on each server.
  static std::vector<std::string> homes() {
    std::map<std::size_t, std::string> found;
    for (int i = 0; found.size() < 3; ++i) {
      const std::string home = "home" + std::to_string(i);
      found.try_emplace(cluster().owner_of(redis::slot_of(home)), home);
    }
    return {found[0], found[1], found[2]};
  }

  std::unique_ptr<RedisStore> store_;
};

}  // namespace once::testing
