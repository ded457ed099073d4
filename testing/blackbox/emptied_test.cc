// A Redis that is emptied behind a running server.
#include <gtest/gtest.h>

#include <thread>

#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/redis_server.h"

namespace once::testing {
namespace {

TEST(Emptied, H41_AServerRefusesToWriteToAStoreThatWasEmptiedUntilItIsRestarted) {
  ONCE_NEEDS_SERVER(RedisServer);
  const RedisServer redis;
  ServerProcess server(redis.address());
  ASSERT_TRUE(server.running()) << server.ready_line();
  const std::string event = R"({"events":[{"data":1}]})";
  {
    RawHttp peer(server.port());
    EXPECT_EQ(peer.call("POST", "/v1/logs/s", event)->status, 201);
    EXPECT_EQ(peer.call("GET", "/readyz")->status, 200);
    redis.cli("flushall");
    // The next look is within a second.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    int status = 0;
    while ((status = peer.call("GET", "/readyz")->status) == 200 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(status, 503);
    const auto refused = peer.call("POST", "/v1/logs/s", event);
    EXPECT_EQ(refused->status, 503);
    EXPECT_NE(refused->body.find("emptied"), std::string::npos) << refused->body;
    EXPECT_EQ(peer.call("GET", "/healthz")->status, 200);
  }
  EXPECT_EQ(redis.cli("dbsize"), "0");
  EXPECT_EQ(server.terminate(), 0);
  server.start();
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  EXPECT_EQ(peer.call("GET", "/readyz")->status, 200);
  EXPECT_EQ(peer.call("POST", "/v1/logs/s", event)->status, 201);
}

}  // namespace
}  // namespace once::testing
