// kill -9 of the proxy at every stage of a request, and what the next one finds.
#include <gtest/gtest.h>

#include "testing/needs_store.h"
#include "testing/proxy_process.h"
#include "testing/server_process.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

RawAnswer post(const ProxyProcess& proxy, const std::string& body = "b") {
  RawHttp client(proxy.port());
  return client.call("POST", "/orders", body, key_header("k")).value_or(RawAnswer{});
}

// What it is once it is not in flight any more.
RawAnswer post_until_known(const ProxyProcess& proxy) {
  RawAnswer answer = post(proxy);
  while (answer.status == 409) {
    std::this_thread::yield();
    answer = post(proxy);
  }
  return answer;
}

bool is_unknown(const RawAnswer& answer) {
  return answer.status == 502 && answer.body.find(R"("code":"unknown")") != std::string::npos;
}

bool is_take(const std::string& request) {
  return request.starts_with("POST ") && request.find("\"lease\"") != std::string::npos;
}
bool is_complete(const std::string& request) {
  return request.find("/complete HTTP/1.1") != std::string::npos;
}

// A request through a proxy whose store holds up some of its requests; killed while it is held.
class HeldProxy {
 public:
  HeldProxy(StoreRelay::Hold when, bool (*which)(const std::string&))
      : relay_(server_.port(), [=](const std::string& request) {
          return which(request) ? when : StoreRelay::Hold::no;
        }) {
    ProxyProcess proxy(upstream_.url(), relay_.url(), {"--upstream-timeout", "100ms"});
    RawHttp client(proxy.port());
    client.send("POST", "/orders", "b", key_header("k"));
    relay_.await_held();
    proxy.kill();
  }

  // Another one, straight at the server.
  ProxyProcess next() { return {upstream_.url(), server_.url()}; }
  int sent() { return upstream_.requests(); }

 private:
  Upstream upstream_{numbered};
  ServerProcess server_{"memory:"};
  StoreRelay relay_;
};

TEST(ProxyCrash, BeforeItClaimsTheKeyIsFreeAtOnce) {
  HeldProxy killed(StoreRelay::Hold::before, is_take);
  EXPECT_EQ(killed.sent(), 0);
  const ProxyProcess proxy = killed.next();
  EXPECT_EQ(post(proxy).status, 201);
  EXPECT_EQ(killed.sent(), 1);
}

// From here on nobody can tell whether the first byte was sent.
TEST(ProxyCrash, OnceItHasClaimedTheOutcomeIsUnknown) {
  HeldProxy killed(StoreRelay::Hold::after, is_take);
  const ProxyProcess proxy = killed.next();
  EXPECT_EQ(post(proxy).status, 409);
  EXPECT_TRUE(is_unknown(post_until_known(proxy)));
  EXPECT_EQ(killed.sent(), 0);
}

TEST(ProxyCrash, AfterTheAnswerAndBeforeItIsStoredTheOutcomeIsUnknown) {
  HeldProxy killed(StoreRelay::Hold::before, is_complete);
  EXPECT_EQ(killed.sent(), 1);
  const ProxyProcess proxy = killed.next();
  EXPECT_TRUE(is_unknown(post_until_known(proxy)));
  EXPECT_TRUE(is_unknown(post(proxy)));
  EXPECT_EQ(killed.sent(), 1);
}

TEST(ProxyCrash, AfterItIsStoredTheAnswerIsReplayedThoughNobodyWasTold) {
  HeldProxy killed(StoreRelay::Hold::after, is_complete);
  const ProxyProcess proxy = killed.next();
  const RawAnswer answer = post(proxy);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "1");
  EXPECT_EQ(answer.header("Idempotent-Replayed"), "true");
  EXPECT_EQ(killed.sent(), 1);
}

TEST(ProxyCrash, AnUpstreamThatCannotBeReachedYetLeavesNothingBehind) {
  // It never accepts, and its queue is full: connecting neither succeeds nor fails.
  const int full = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(full, name, length), 0);
  ASSERT_EQ(::listen(full, 0), 0);
  ASSERT_EQ(::getsockname(full, name, &length), 0);
  const auto port = ntohs(address.sin_port);
  const RawHttp queued(port);
  const ServerProcess server("memory:");
  StoreRelay relay(server.port(), [](const std::string&) { return StoreRelay::Hold::no; });
  {
    ProxyProcess proxy("http://127.0.0.1:" + std::to_string(port), relay.url());
    RawHttp client(proxy.port());
    client.send("POST", "/orders", "b", key_header("k"));
    while (relay.requests() == 0) std::this_thread::yield();
    proxy.kill();
  }
  EXPECT_EQ(relay.requests(), 1) << "it looked, and claimed nothing";
  ::close(full);
  Upstream upstream(numbered);
  const ProxyProcess proxy(upstream.url(), server.url());
  EXPECT_EQ(post(proxy).status, 201);
}

class ProxyCrashOnADirectory : public ::testing::Test {
 protected:
  std::string store() const { return (dir_.path() / "store").string(); }

  // Sends, and is killed while the upstream works on it.
  void kill_in_flight(const std::vector<std::string>& options = {}) {
    ProxyProcess proxy(upstream_.url(), store(), options);
    RawHttp client(proxy.port());
    client.send("POST", "/orders", "b", key_header("k"));
    upstream_.await_requests(1);
    proxy.kill();
    gate_.open();
  }

  Gate gate_;
  Upstream upstream_{[this](const std::string& request, int number) {
    gate_.wait();
    return numbered(request, number);
  }};

 private:
  TempDir dir_;
};

// The directory was its own, so its next owner knows at once that it is dead.
TEST_F(ProxyCrashOnADirectory, AfterSendingTheOutcomeIsUnknownAtOnceAndRefused) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  kill_in_flight();
  for (int i = 0; i < 2; ++i) {
    ProxyProcess proxy(upstream_.url(), store());
    EXPECT_TRUE(is_unknown(post(proxy)));
    EXPECT_EQ(post(proxy, "another body").status, 422);
    proxy.kill();
  }
  EXPECT_EQ(upstream_.requests(), 1);
}

TEST_F(ProxyCrashOnADirectory, AfterSendingItIsSentAgainIfThatIsWanted) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  const std::vector<std::string> retry = {"--after-unknown=retry", "--upstream-timeout", "100ms"};
  kill_in_flight(retry);
  const ProxyProcess proxy(upstream_.url(), store(), retry);
  EXPECT_EQ(post_until_known(proxy).body, "2");
  EXPECT_EQ(post(proxy).body, "2");
}

TEST_F(ProxyCrashOnADirectory, AfterItWasAnsweredTheAnswerIsReplayed) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  gate_.open();
  {
    ProxyProcess proxy(upstream_.url(), store());
    EXPECT_EQ(post(proxy).body, "1");
    proxy.kill();
  }
  const ProxyProcess proxy(upstream_.url(), store());
  const RawAnswer again = post(proxy);
  EXPECT_EQ(again.body, "1");
  EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream_.requests(), 1);
}

}  // namespace
}  // namespace once::testing
