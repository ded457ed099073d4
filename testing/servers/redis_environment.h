// For a program all of whose tests need Redis.
#pragma once

#include "testing/servers/needs.h"
#include "testing/servers/redis_server.h"

namespace once::testing {

class NeedsRedis final : public ::testing::Environment {
 public:
  void SetUp() override { ONCE_NEEDS_SERVER(RedisServer); }
};

inline const ::testing::Environment* const kNeedsRedis =
    ::testing::AddGlobalTestEnvironment(new NeedsRedis);

}  // namespace once::testing
