// The stores on which crashes are tried, each on its real server.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/redis_server.h"
#include "testing/temp_dir.h"
#ifdef ONCE_HAS_AWS
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/s3_buckets.h"
#endif

namespace once::testing {

inline bool is_long() { return std::getenv("ONCE_LONG") != nullptr; }

// The one that is tried every time, or all of them.
inline std::vector<std::string> stores_to_try(const std::string& every_time) {
  if (!is_long()) return {every_time};
#ifdef ONCE_HAS_AWS
  return {"server", "dynamodb", "redis", "s3"};
#else
  return {"server", "redis"};
#endif
}

inline std::optional<std::string> missing_for(const std::string& store) {
  if (store == "redis") return RedisServer::missing();
#ifdef ONCE_HAS_AWS
  if (store == "dynamodb") return DynamoDbLocal::missing();
  if (store == "s3") return CephS3::missing();
#endif
  return std::nullopt;
}

// A new and empty one.
class StoreAtAddress {
 public:
  explicit StoreAtAddress(const std::string& kind) {
    if (kind == "redis") {
      redis_ = std::make_unique<RedisServer>();
      address_ = redis_->address();
#ifdef ONCE_HAS_AWS
    } else if (kind == "dynamodb") {
      address_ = DynamoDbTable().address();
    } else if (kind == "s3") {
      address_ = S3Place().address();
#endif
    } else {
      server_ = std::make_unique<ServerProcess>((directory_.path() / "store").string());
      address_ = server_->url();
    }
  }

  const std::string& address() const { return address_; }

 private:
  const TempDir directory_;
  std::unique_ptr<RedisServer> redis_;
  std::unique_ptr<ServerProcess> server_;
  std::string address_;
};

}  // namespace once::testing

// In a test: as ONCE_NEEDS_SERVER.
#define ONCE_NEEDS_STORE(kind)                                         \
  if (const auto missing_store = ::once::testing::missing_for(kind)) { \
    if (!::once::testing::may_skip()) FAIL() << *missing_store;        \
    GTEST_SKIP() << *missing_store;                                    \
  }                                                                    \
  static_assert(true)
