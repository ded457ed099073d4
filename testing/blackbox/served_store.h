// What the server under test keeps its data in: a new and empty store for each test, of the kind
// that the program is built for.
#pragma once

#include <string>

#ifdef ONCE_ON_DYNAMODB
#include "testing/servers/dynamodb_environment.h"
#include "testing/servers/dynamodb_tables.h"
#elif defined(ONCE_ON_S3)
#include "testing/servers/s3_buckets.h"
#include "testing/servers/s3_environment.h"
#elif defined(ONCE_ON_REDIS_CLUSTER)
#include "testing/servers/redis_cluster.h"
#include "testing/servers/redis_environment.h"
#elif defined(ONCE_ON_REDIS)
#include "testing/servers/redis_environment.h"
#include "testing/servers/redis_server.h"
#endif
#include "testing/temp_dir.h"

namespace once::testing {

#ifdef ONCE_ON_DYNAMODB
class ServedStore {
 public:
  std::string address() const { return table_.address(); }

 private:
  const DynamoDbTable table_;
};
#elif defined(ONCE_ON_S3)
class ServedStore {
 public:
  std::string address() const { return place_.address(); }

 private:
  const S3Place place_;
};
#elif defined(ONCE_ON_REDIS_CLUSTER)
// One cluster for the program, emptied for each test.
class ServedStore {
 public:
  ServedStore() {
    for (const auto& server : cluster().servers()) server->cli("flushall");
  }

  std::string address() const { return cluster().server(0).address(); }

 private:
  static const RedisCluster& cluster() {
    static const RedisCluster shared;
    return shared;
  }
};
#elif defined(ONCE_ON_REDIS)
class ServedStore {
 public:
  std::string address() const { return server_.address(); }

 private:
  const RedisServer server_;
};
#elif defined(ONCE_HAS_ROCKSDB)
class ServedStore {
 public:
  std::string address() const { return directory_.path() / "store"; }

 private:
  const TempDir directory_;
};
#else
class ServedStore {
 public:
  std::string address() const { return "memory:"; }
};
#endif

}  // namespace once::testing
