// A store that does not answer any more, and does not refuse either.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

#include "testing/needs_store.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/redis_server.h"

namespace once::testing {
namespace {

TEST(StalledStore, DoesNotKeepAServerFromStopping) {
  ONCE_NEEDS_STORE_KIND("redis");
  ONCE_NEEDS_SERVER(RedisServer);
  const RedisServer redis;
  ServerProcess server(redis.address());
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  ASSERT_EQ(peer.call("POST", "/v1/claims/a", "{}")->status, 201);
  ::kill(redis.pid(), SIGSTOP);
  // In one piece: once the first is answered, the second is under way.
  peer.send(
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "POST /v1/claims/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(peer.receive()->status, 200);
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_EQ(server.terminate(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - asked,
            std::chrono::seconds(8));  // 5, and others' load.
  ::kill(redis.pid(), SIGCONT);
}

}  // namespace
}  // namespace once::testing
