// How the proxy carries requests: connections, bodies, clients that leave, and bounds.
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "testing/proxy_process.h"
#include "testing/server_process.h"
#include "testing/tls_peer.h"

namespace once::testing {
namespace {

std::string echoed(const std::string& request, int) {
  return http_answer("200 OK", request.substr(request.find("\r\n\r\n") + 4));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ProxyCarrying, WhatIsAboutOneConnectionStaysThere) {
  Upstream upstream([](const std::string&, int) {
    return http_answer("200 OK", "x",
                       "Connection: X-Theirs\r\nX-Theirs: 1\r\nKeep-Alive: timeout=5\r\nX-Kept: 1"
                       "\r\n");
  });
  ProxyProcess proxy(upstream.url(), "memory:");
  RawHttp client(proxy.port());
  const auto answer = client.call(
      "POST", "/", "x",
      "Connection: X-Ours\r\nX-Ours: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nX-Kept: 1\r\n" +
          key_header("k"));
  for (const char* name : {"X-Ours", "TE:", "Upgrade", "Connection", "Host: localhost"}) {
    EXPECT_FALSE(holds(upstream.last(), std::string("\r\n") + name)) << upstream.last();
  }
  EXPECT_TRUE(holds(upstream.last(), "\r\nX-Kept: 1\r\n"));
  EXPECT_TRUE(holds(upstream.last(), "\r\nIdempotency-Key: k\r\n"));
  EXPECT_EQ(answer->header("X-Kept"), "1");
  for (const char* name : {"X-Theirs", "Keep-Alive", "Connection"}) {
    EXPECT_EQ(answer->header(name), "") << name;
  }
}

TEST(ProxyCarrying, AnUpstreamBehindTlsIsReachedIfSomebodyVouchesForIt) {
  TlsPeer upstream("IP:127.0.0.1");
  const auto status_by = [&](const std::string& authorities) {
    ::setenv("SSL_CERT_FILE", authorities.c_str(), 1);
    ProxyProcess proxy(upstream.url(), "memory:");
    ::unsetenv("SSL_CERT_FILE");
    return RawHttp(proxy.port()).call("POST", "/", "{}", key_header("k"))->status;
  };
  EXPECT_EQ(status_by("/dev/null"), 502);
  EXPECT_EQ(upstream.requests(), 0);
  EXPECT_EQ(status_by(upstream.certificate_file()), 200);
  EXPECT_EQ(upstream.requests(), 1);
}

TEST(ProxyCarrying, ChunkedBodiesGoBothWaysAndAreReplayed) {
  Upstream upstream([](const std::string&, int) {
    return std::string(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n");
  });
  ProxyProcess proxy(upstream.url(), "memory:");
  for (int i = 0; i < 2; ++i) {
    RawHttp client(proxy.port());
    client.send(
        "POST / HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k\r\nTransfer-Encoding: "
        "chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    EXPECT_EQ(client.receive()->body, "abcdefg");
  }
  // The same body in one piece is the same request.
  RawHttp client(proxy.port());
  EXPECT_EQ(client.call("POST", "/", "abcde", key_header("k"))->header("Idempotent-Replayed"),
            "true");
  EXPECT_TRUE(upstream.last().ends_with("\r\n\r\nabcde")) << upstream.last();
  EXPECT_EQ(upstream.requests(), 1);
}

TEST(ProxyCarrying, ATraceWithABodyPassesAsAnyOther) {
  Upstream upstream(echoed);
  ProxyProcess proxy(upstream.url(), "memory:");
  RawHttp client(proxy.port());
  const auto answer = client.call("TRACE", "/t", "abc");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->body, "abc");
  EXPECT_EQ(proxy.terminate(), 0);
}

TEST(ProxyCarrying, ABodyIsAsLargeAsItsLimitAndNoLarger) {
  Upstream upstream(echoed);
  ProxyProcess proxy(upstream.url(), "memory:", {"--max-body", "3000000"});
  std::string large(3'000'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 7) large[i] = static_cast<char>(i);
  for (int i = 0; i < 2; ++i) {
    RawHttp client(proxy.port());
    const auto answer = client.call("POST", "/", large, key_header("k"));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, 200);
    EXPECT_TRUE(answer->body == large);
  }
  for (const char* target : {"/", "/v1/items", "/v1/docs/a"}) {
    RawHttp client(proxy.port());
    EXPECT_EQ(client.call("POST", target, large + "x", key_header("l"))->status, 413) << target;
  }
  EXPECT_EQ(upstream.requests(), 1);
}

// A server takes bodies of 1 MiB, and an answer is stored in base64.
TEST(ProxyCarrying, AnAnswerTooLargeToStoreIsPassedOnAndItsRequestIsNotSentAgain) {
  const std::string large(1'000'000, 'x');
  Upstream upstream([&](const std::string&, int) { return http_answer("200 OK", large); });
  const ServerProcess server("memory:");
  ProxyProcess proxy(upstream.url(), server.url());
  RawHttp client(proxy.port());
  EXPECT_TRUE(client.call("POST", "/", "b", key_header("k"))->body == large);
  const auto again = client.call("POST", "/", "b", key_header("k"));
  EXPECT_EQ(again->status, 409);
  EXPECT_EQ(again->header("Retry-After"), "");
  EXPECT_TRUE(holds(again->body, R"("code":"too_large","upstream_status":200)")) << again->body;
  EXPECT_TRUE(holds(again->body, R"("upstream_bytes":1000000)")) << again->body;
  EXPECT_EQ(upstream.requests(), 1);
}

// docs/hazards.md#h16: it is complete, so that its request is done and not sent again.
TEST(ProxyCarrying, AnAnswerBeyondTheLimitIsPassedOnAndRecordedWithoutItsBody) {
  const std::string large(3'000'000, 'x');
  Upstream upstream(
      [&](const std::string&, int) { return http_answer("201 Created", large, "X-Own: y\r\n"); });
  ProxyProcess proxy(upstream.url(), "memory:", {"--max-answer", "4"});
  RawHttp client(proxy.port());
  const auto answer = client.call("POST", "/", "b", key_header("k"));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->header("X-Own"), "y");
  EXPECT_TRUE(answer->body == large);
  const auto again = client.call("POST", "/", "b", key_header("k"));
  EXPECT_EQ(again->status, 409);
  EXPECT_TRUE(holds(again->body, R"("code":"too_large","upstream_status":201)")) << again->body;
  EXPECT_TRUE(holds(again->body, R"("upstream_bytes":3000000)")) << again->body;
  EXPECT_EQ(upstream.requests(), 1);
}

TEST(ProxyCarrying, AnAnswerBeyondTheLimitThatBreaksOffIsUnknown) {
  Upstream upstream([&](const std::string&, int) {
    return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99\r\n\r\nhalf of it";
  });
  ProxyProcess proxy(upstream.url(), "memory:", {"--max-answer", "4"});
  RawHttp client(proxy.port());
  EXPECT_FALSE(client.call("POST", "/", "b", key_header("k")).has_value());
  RawHttp other(proxy.port());
  const auto again = other.call("POST", "/", "b", key_header("k"));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->status, 502);
  EXPECT_TRUE(holds(again->body, R"("code":"unknown")")) << again->body;
  EXPECT_EQ(upstream.requests(), 1);
}

TEST(ProxyCarrying, WithoutAKeyLargeBodiesPassBothWays) {
  const std::string large(20'000'000, 'x');
  Upstream upstream([&](const std::string& request, int number) {
    return request.starts_with("GET") ? http_answer("200 OK", large) : echoed(request, number);
  });
  ProxyProcess proxy(upstream.url(), "memory:");
  RawHttp client(proxy.port());
  for (int i = 0; i < 2; ++i) {
    const auto answer = client.call("GET", "/");
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, 200);
    EXPECT_TRUE(answer->body == large);
  }
  const std::string sent = large.substr(0, 3'000'000);
  EXPECT_TRUE(client.call("PUT", "/", sent)->body == sent);
}

std::string lines_until(RawHttp& client, const std::string& last) {
  std::string lines;
  while (const auto line = client.receive_line()) {
    lines += *line + "\n";
    if (*line == last) break;
  }
  return lines;
}

// Events, and long polls: the upstream goes on only when the client has got what came before.
TEST(ProxyCarrying, WithoutAKeyAnAnswerIsSentAsItComes) {
  Gate first;
  Gate second;
  ScriptedPeer upstream({[&](Conversation& c) {
    c.read_request();
    c.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    first.wait();
    c.send("data: 1\n\n");
    second.wait();
    c.send("data: 2\n\n");
  }});
  ProxyProcess proxy(upstream.url(), "memory:");
  RawHttp client(proxy.port());
  client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(holds(lines_until(client, "\r"), "Transfer-Encoding: chunked"));
  first.open();
  EXPECT_TRUE(holds(lines_until(client, "data: 1"), "data: 1"));
  second.open();
  EXPECT_TRUE(holds(lines_until(client, "0\r"), "data: 2"));
}

TEST(ProxyCarrying, ConnectionsAreKeptOpenOnBothSides) {
  Upstream upstream(numbered);
  ProxyProcess proxy(upstream.url(), "memory:", {"--workers", "1"});
  RawHttp client(proxy.port());
  for (int i = 1; i <= 20; ++i) {
    const auto answer = client.call("POST", "/", "b", key_header("k" + std::to_string(i)));
    ASSERT_TRUE(answer.has_value()) << i;
    EXPECT_EQ(answer->body, std::to_string(i));
  }
  EXPECT_EQ(upstream.connections(), 1);
}

TEST(ProxyCarrying, AnUpstreamThatClosesAfterEachAnswerIsConnectedAnew) {
  Upstream upstream([](const std::string&, int number) {
    return http_answer("200 OK", std::to_string(number), "Connection: close\r\n");
  });
  ProxyProcess proxy(upstream.url(), "memory:", {"--workers", "1"});
  RawHttp client(proxy.port());
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(client.call("POST", "/", "b", key_header("k" + std::to_string(i)))->status, 200);
  }
  EXPECT_EQ(upstream.connections(), 5);
}

TEST(ProxyCarrying, TheAnswerToAClientThatLeftIsStoredAllTheSame) {
  Gate gate;
  Upstream upstream([&](const std::string& request, int number) {
    gate.wait();
    return numbered(request, number);
  });
  ProxyProcess proxy(upstream.url(), "memory:");
  {
    RawHttp leaving(proxy.port());
    leaving.send("POST", "/", "b", key_header("k"));
    upstream.await_requests(1);
  }
  gate.open();
  RawHttp client(proxy.port());
  auto answer = client.call("POST", "/", "b", key_header("k"));
  while (answer && answer->status == 409) {
    answer = client.call("POST", "/", "b", key_header("k"));
  }
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->header("Idempotent-Replayed"), "true");
  EXPECT_EQ(answer->body, "1");
  EXPECT_EQ(upstream.requests(), 1);
}

TEST(ProxyCarrying, ManyClientsWithTheSameKeysSendEachOnce) {
  constexpr int kClients = 32;
  constexpr int kKeys = 20;
  Upstream upstream(echoed);
  ProxyProcess proxy(upstream.url(), "memory:");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      RawHttp client(proxy.port());
      for (int i = 0; i < kKeys; ++i) {
        const std::string key = "k" + std::to_string((i + c) % kKeys);
        auto answer = client.call("POST", "/", "body of " + key, key_header(key));
        while (answer && (answer->status == 409 || answer->status == 503)) {
          answer = client.call("POST", "/", "body of " + key, key_header(key));
        }
        if (!answer || answer->status != 200 || answer->body != "body of " + key) ++wrong;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(upstream.requests(), kKeys);
}

TEST(ProxyCarrying, MoreThanMayWaitAreToldToComeBack) {
  Gate gate;
  Upstream upstream([&](const std::string& request, int number) {
    gate.wait();
    return numbered(request, number);
  });
  ProxyProcess proxy(upstream.url(), "memory:", {"--workers", "1"});
  RawHttp first(proxy.port());
  first.send("GET", "/", "");
  upstream.await_requests(1);
  // One is being carried and four may wait, so that one of five is refused; it lets the others go.
  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back([&] {
      RawHttp client(proxy.port());
      const RawAnswer answer = client.call("GET", "/").value_or(RawAnswer{});
      if (answer.status == 201) ++answered;
      if (answer.status != 503) return;
      EXPECT_NE(answer.header("Retry-After"), "");
      gate.open();
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 4);
  EXPECT_EQ(first.receive()->status, 201);
}

// Each waits until its client reads, which it never does.
TEST(ProxyCarrying, SlowReadersHoldUpNobodyElse) {
  const std::string large = http_answer("200 OK", std::string(8U << 20, 'x'));
  Upstream upstream([&](const std::string& request, int number) {
    return request.starts_with("GET /large") ? large : numbered(request, number);
  });
  ProxyProcess proxy(upstream.url(), "memory:", {"--workers", "4", "--upstream-timeout", "10m"});
  std::vector<RawHttp> slow;
  for (int i = 0; i < 10; ++i) {
    slow.emplace_back(proxy.port());
    slow.back().send("GET", "/large", "");
  }
  upstream.await_requests(4);
  EXPECT_EQ(RawHttp(proxy.port()).call("GET", "/quick").value_or(RawAnswer{}).status, 201);
  upstream.await_requests(11);
  EXPECT_EQ(slow[0].receive()->body.size(), 8U << 20) << "late, and whole";
}

TEST(ProxyCarrying, BeyondTheBoundTheAnswerOfASlowReaderIsCutOff) {
  const std::string large = http_answer("200 OK", std::string(8U << 20, 'x'));
  Upstream upstream([&](const std::string&, int) { return large; });
  ProxyProcess proxy(upstream.url(), "memory:",
                     {"--workers", "8", "--slow-readers", "1", "--upstream-timeout", "10m",
                      "--metrics-listen", "127.0.0.1:0"});
  std::vector<RawHttp> slow;
  for (int i = 0; i < 3; ++i) {
    slow.emplace_back(proxy.port());
    slow.back().send("GET", "/", "");
  }
  const std::string& line = proxy.ready_line();
  const auto watchers = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  while (!holds(RawHttp(watchers).call("GET", "/metrics").value_or(RawAnswer{}).body,
                "\nonce_proxy_slow_readers_cut_total 2\n")) {
    std::this_thread::yield();
  }
  int whole = 0;
  for (RawHttp& client : slow) whole += client.receive() ? 1 : 0;
  EXPECT_EQ(whole, 1);
}

TEST(ProxyCarrying, WhenItIsToldToStopItFinishesWhatIsInFlight) {
  Gate gate;
  Upstream upstream([&](const std::string& request, int number) {
    gate.wait();
    return numbered(request, number);
  });
  ProxyProcess proxy(upstream.url(), "memory:");
  RawHttp client(proxy.port());
  client.send("POST", "/", "b", key_header("k"));
  upstream.await_requests(1);
  std::thread stopping([&] { EXPECT_EQ(proxy.terminate(), 0); });
  gate.open();
  const auto answer = client.receive();
  stopping.join();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 201);
}

TEST(ProxyCarrying, ANewKeyCostsOneReadAndTwoWritesAndAReplayOneRead) {
  Upstream upstream(numbered);
  const ServerProcess server("memory:");
  StoreRelay relay(server.port(), [](const std::string&) { return StoreRelay::Hold::no; });
  ProxyProcess proxy(upstream.url(), relay.url());
  RawHttp client(proxy.port());
  EXPECT_EQ(client.call("POST", "/", "b", key_header("k"))->status, 201);
  EXPECT_EQ(relay.requests(), 3);
  EXPECT_EQ(client.call("POST", "/", "b", key_header("k"))->status, 201);
  EXPECT_EQ(relay.requests(), 4);
}

}  // namespace
}  // namespace once::testing
