// A Redis that is emptied behind a process that has it open.
#include <gtest/gtest.h>

#include <thread>

#include "once/open.h"
#include "testing/proxy_process.h"
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

// Looks again until it is so.
bool comes_to_be(const std::function<bool()>& is_so) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_so() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return is_so();
}

// Each try has a key of its own: the first ones may come before the next look.
TEST(Emptied, H41_AProxyRefusesKeysOnceItsStoreWasEmptied) {
  ONCE_NEEDS_SERVER(RedisServer);
  const RedisServer redis;
  Upstream upstream(numbered);
  ProxyProcess proxy(upstream.url(), redis.address());
  ASSERT_TRUE(proxy.running()) << proxy.ready_line();
  std::optional<RawAnswer> answer;
  const auto post = [&](const std::string& key) {
    RawHttp client(proxy.port());
    answer = client.call("POST", "/orders", "b", key_header(key));
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(post("k"), 201);
  redis.cli("flushall");
  int tries = 0;
  EXPECT_TRUE(comes_to_be([&] { return post("k" + std::to_string(++tries)) == 503; }));
  ASSERT_TRUE(answer.has_value());
  EXPECT_NE(answer->body.find("emptied"), std::string::npos) << answer->body;
  const int sent = upstream.requests();
  EXPECT_EQ(post("k"), 503);
  EXPECT_EQ(upstream.requests(), sent);
  EXPECT_EQ(proxy.terminate(), 0);
  ProxyProcess again(upstream.url(), redis.address());
  RawHttp client(again.port());
  EXPECT_EQ(client.call("POST", "/orders", "b", key_header("k"))->status, 201);
}

TEST(Emptied, H41_AProgramWithAStoreOfItsOwnIsRefused) {
  ONCE_NEEDS_SERVER(RedisServer);
  const RedisServer redis;
  Once once = open(redis.address()).value();
  const auto add = [&] { return once.commit(Effects().add("sum", 1)); };
  EXPECT_TRUE(add().has_value());
  redis.cli("flushall");
  Result<effects::Outcome> last;
  EXPECT_TRUE(comes_to_be([&] { return !(last = add()).has_value(); }));
  EXPECT_EQ(last.error().code, ErrorCode::unavailable);
  EXPECT_NE(last.error().message.find("emptied"), std::string::npos) << last.error().message;
  EXPECT_TRUE(open(redis.address()).value().commit(Effects().add("sum", 1)).has_value());
}

}  // namespace
}  // namespace once::testing
