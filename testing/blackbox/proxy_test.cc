// The proxy from outside: what is sent once, what is replayed, and what frees a key.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "testing/needs_store.h"
#include "testing/proxy_process.h"
#include "testing/server_process.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

std::string created(const std::string&, int number) {
  return http_answer("201 Created", "order " + std::to_string(number),
                     "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nLocation: /orders/" +
                         std::to_string(number) + "\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n");
}

std::string without(std::string head, const std::string& line) {
  const std::size_t at = head.find(line);
  return at == std::string::npos ? head : head.erase(at, line.size());
}
std::string without_replayed(const std::string& head) {
  return without(head, "Idempotent-Replayed: true\r\n");
}
std::string without_cookies(const std::string& head) {
  return without(without(head, "Set-Cookie: a=1\r\n"), "Set-Cookie: b=2\r\n");
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

RawAnswer post(const ProxyProcess& proxy, const std::string& key, const std::string& body = "b",
               const std::string& headers = "", const std::string& target = "/orders") {
  RawHttp client(proxy.port());
  return client.call("POST", target, body, key_header(key) + headers).value_or(RawAnswer{});
}

// Replays to the byte, wherever the claims are kept.
void expect_one_order(const std::string& store) {
  Upstream upstream(created);
  ProxyProcess proxy(upstream.url(), store);
  ASSERT_TRUE(proxy.running()) << proxy.ready_line();
  const RawAnswer first = post(proxy, "k");
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(first.body, "order 1");
  EXPECT_EQ(first.header("Date"), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(first.header("Idempotent-Replayed"), "");
  EXPECT_EQ(first.header("Set-Cookie"), "a=1");
  const RawAnswer again = post(proxy, "\"k\"");
  EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
  EXPECT_EQ(without_replayed(again.head), without_cookies(first.head));
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(upstream.requests(), 1);
  EXPECT_EQ(proxy.terminate(), 0);
}

TEST(Proxy, TheFirstRequestGoesThroughAndItsAnswerIsReplayedByteForByteButSetsNoCookie) {
  expect_one_order("memory:");
}

TEST(Proxy, KeepsItsClaimsAtAServer) {
  const ServerProcess server("memory:");
  expect_one_order(server.url());
}

TEST(Proxy, KeepsItsClaimsInADirectoryOrAtTheServerThatHasIt) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  expect_one_order(store);
  const TempDir other;
  const ServerProcess server(other.path().string());
  expect_one_order(other.path().string());
}

TEST(Proxy, OtherRequestsPassUntouched) {
  Upstream upstream(created);
  ProxyProcess proxy(upstream.url(), "memory:");
  RawHttp client(proxy.port());
  EXPECT_EQ(client.call("POST", "/a", "x")->body, "order 1");
  EXPECT_EQ(client.call("POST", "/a", "x")->body, "order 2");
  EXPECT_EQ(client.call("PUT", "/a", "x", key_header("k"))->body, "order 3");
  EXPECT_EQ(client.call("PUT", "/a", "x", key_header("k"))->body, "order 4");
  EXPECT_EQ(client.call("DELETE", "/a%2Fb?q=%20", "", "X-Own: y\r\n")->body, "order 5");
  EXPECT_TRUE(upstream.last().starts_with("DELETE /a%2Fb?q=%20 HTTP/1.1\r\n")) << upstream.last();
  EXPECT_TRUE(holds(upstream.last(), "\r\nX-Own: y\r\n"));
}

TEST(Proxy, HeadTellsTheLengthThatTheUpstreamTold) {
  Upstream upstream([](const std::string&, int) {
    return std::string("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n");
  });
  ProxyProcess proxy(upstream.url(), "memory:");
  RawHttp client(proxy.port());
  const auto answer = client.call("HEAD", "/a");
  EXPECT_EQ(answer->header("Content-Length"), "12345");
  EXPECT_EQ(client.call("HEAD", "/a")->status, 200);
}

TEST(Proxy, AKeyIsRequiredWhereItIsSaidSoAndABadOneIsRefusedEverywhere) {
  Upstream upstream(created);
  ProxyProcess strict(upstream.url(), "memory:", {"--require-key"});
  RawHttp client(strict.port());
  const auto missing = client.call("POST", "/a", "x");
  EXPECT_EQ(missing->status, 400);
  EXPECT_TRUE(holds(missing->body, R"("code":"invalid")")) << missing->body;
  EXPECT_EQ(client.call("PATCH", "/a", "x")->status, 400);
  EXPECT_EQ(post(strict, std::string(256, 'k')).status, 400);
  EXPECT_EQ(post(strict, "\"half").status, 400);
  EXPECT_EQ(post(strict, "a", "x", key_header("b")).status, 400);
  EXPECT_EQ(upstream.requests(), 0);
  EXPECT_EQ(client.call("GET", "/a")->status, 201);
  EXPECT_EQ(client.call("PATCH", "/a", "x", key_header("k"))->status, 201);
}

TEST(Proxy, KeysOfOtherUsersMethodsPathsAndQueriesAreOtherKeys) {
  Upstream upstream(created);
  ProxyProcess proxy(upstream.url(), "memory:");
  EXPECT_EQ(post(proxy, "k").body, "order 1");
  EXPECT_EQ(post(proxy, "k", "b", "Authorization: Bearer a\r\n").body, "order 2");
  EXPECT_EQ(post(proxy, "k", "b", "Authorization: Bearer b\r\n").body, "order 3");
  EXPECT_EQ(post(proxy, "k", "b", "", "/others").body, "order 4");
  EXPECT_EQ(post(proxy, "k", "b", "", "/orders?q").body, "order 5");
  RawHttp client(proxy.port());
  EXPECT_EQ(client.call("PATCH", "/orders", "b", key_header("k"))->body, "order 6");
  EXPECT_EQ(post(proxy, "k", "b", "authorization: Bearer a\r\nX-Trace: 7\r\n").body, "order 2");
}

// docs/hazards.md#h42: a replay was given to another caller of the same path and key.
TEST(Proxy, H42_AReplayIsForTheCallerOfTheFirstRequestAlone) {
  Upstream upstream(created);
  ProxyProcess proxy(upstream.url(),
                     "memory:", {"--identity-header", "X-User", "--identity-header=x-org"});
  ASSERT_TRUE(proxy.running()) << proxy.ready_line();
  const std::vector<std::string> callers = {"",
                                            "Cookie: session=a\r\n",
                                            "Cookie: session=b\r\n",
                                            "X-Api-Key: a\r\n",
                                            "x-api-key: b\r\n",
                                            "Authorization: a\r\n",
                                            "X-User: a\r\n",
                                            "X-Org: a\r\n",
                                            "X-User: a\r\nX-Org: a\r\n",
                                            "Cookie: session=a\r\nX-User: a\r\n",
                                            "X-User: a\r\nX-User: b\r\n"};
  for (std::size_t i = 0; i < callers.size(); ++i) {
    EXPECT_EQ(post(proxy, "k", "b", callers[i]).body, "order " + std::to_string(i + 1));
  }
  for (std::size_t i = 0; i < callers.size(); ++i) {
    const RawAnswer again = post(proxy, "k", "b", callers[i] + "X-Trace: 7\r\n");
    EXPECT_EQ(again.body, "order " + std::to_string(i + 1));
    EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
  }
  EXPECT_EQ(post(proxy, "k", "b", "x-org: a\r\nx-user: a\r\n").body, "order 9");
}

TEST(Proxy, AnIdentityHeaderIsTheNameOfAHeader) {
  for (const char* name : {"X User", "X:User", "Caf\xc3\xa9"}) {
    const ProxyProcess proxy("http://127.0.0.1:1", "memory:", {"--identity-header", name});
    EXPECT_FALSE(proxy.running()) << name;
  }
}

TEST(Proxy, AnotherBodyUnderTheSameKeyIs422) {
  Upstream upstream(created);
  ProxyProcess proxy(upstream.url(), "memory:");
  EXPECT_EQ(post(proxy, "k", "one").status, 201);
  const RawAnswer other = post(proxy, "k", "two");
  EXPECT_EQ(other.status, 422);
  EXPECT_TRUE(holds(other.body, R"("code":"mismatch")")) << other.body;
  EXPECT_EQ(post(proxy, "k", "one").body, "order 1");
  EXPECT_EQ(upstream.requests(), 1);
}

TEST(Proxy, WhileARequestIsInFlightItsRepeatsAre409) {
  Gate gate;
  Upstream upstream([&](const std::string& request, int number) {
    gate.wait();
    return created(request, number);
  });
  ProxyProcess proxy(upstream.url(), "memory:");
  RawHttp first(proxy.port());
  first.send("POST", "/orders", "b", key_header("k"));
  upstream.await_requests(1);
  const RawAnswer busy = post(proxy, "k");
  EXPECT_EQ(busy.status, 409);
  EXPECT_TRUE(holds(busy.body, R"("code":"busy")")) << busy.body;
  EXPECT_NE(busy.header("Retry-After"), "");
  EXPECT_EQ(post(proxy, "k", "another body").status, 422);
  gate.open();
  EXPECT_EQ(first.receive()->body, "order 1");
  EXPECT_EQ(post(proxy, "k").body, "order 1");
  EXPECT_EQ(upstream.requests(), 1);
}

// How often a request with a key is sent if its first answer has `status` and it is repeated.
int sent_with(const std::string& status, const std::vector<std::string>& options = {}) {
  Upstream upstream([&](const std::string& request, int number) {
    return number == 1 ? http_answer(status, "first", "Retry-After: 9\r\n")
                       : created(request, number);
  });
  ProxyProcess proxy(upstream.url(), "memory:", options);
  const RawAnswer first = post(proxy, "k");
  EXPECT_EQ(first.body, "first");
  EXPECT_EQ(first.header("Retry-After"), "9");
  const RawAnswer second = post(proxy, "k");
  EXPECT_EQ(second.header("Idempotent-Replayed"), second.body == "first" ? "true" : "");
  return upstream.requests();
}

TEST(Proxy, H30_OnlyAnswers401And403And429And503FreeTheKey) {
  EXPECT_EQ(sent_with("401 Unauthorized"), 2);
  EXPECT_EQ(sent_with("403 Forbidden"), 2);
  EXPECT_EQ(sent_with("429 Too Many Requests"), 2);
  EXPECT_EQ(sent_with("503 Service Unavailable"), 2);
  EXPECT_EQ(sent_with("500 Internal Server Error"), 1);
  EXPECT_EQ(sent_with("504 Gateway Timeout"), 1);
  EXPECT_EQ(sent_with("404 Not Found"), 1);
  EXPECT_EQ(sent_with("302 Found"), 1);
}

TEST(Proxy, H30_Retry5xxFreesThemAll) {
  EXPECT_EQ(sent_with("500 Internal Server Error", {"--retry-5xx"}), 2);
  EXPECT_EQ(sent_with("404 Not Found", {"--retry-5xx"}), 1);
}

TEST(Proxy, H30_AnUpstreamThatCannotBeReachedLeavesTheKeyFree) {
  std::uint16_t port = 0;
  {
    Upstream gone(created);
    port = gone.port();
  }
  ProxyProcess proxy("http://127.0.0.1:" + std::to_string(port), "memory:");
  const RawAnswer refused = post(proxy, "k");
  EXPECT_EQ(refused.status, 502);
  EXPECT_TRUE(holds(refused.body, R"("code":"unavailable")")) << refused.body;
  EXPECT_NE(refused.header("Retry-After"), "");
  Upstream back(created, port);
  EXPECT_EQ(post(proxy, "k").status, 201);
}

std::string field(const std::string& json, const std::string& name) {
  const std::string mark = "\"" + name + "\":\"";
  const std::size_t at = json.find(mark);
  if (at == std::string::npos) return "";
  return json.substr(at + mark.size(), json.find('"', at + mark.size()) - at - mark.size());
}

std::string percent_encoded(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '/' ? "%2F" : std::string(1, c);
  return out;
}

// The upstream acted, or did not, and then the connection broke.
TEST(Proxy, H30_AnAnswerThatWasLostIsUnknownAndRefusedUntilItIsForgotten) {
  Upstream upstream([](const std::string& request, int number) {
    return number == 1 ? "" : created(request, number);
  });
  const ServerProcess server("memory:");
  ProxyProcess proxy(upstream.url(), server.url());
  const RawAnswer lost = post(proxy, "k");
  EXPECT_EQ(lost.status, 502);
  EXPECT_EQ(field(lost.body, "code"), "unknown") << lost.body;
  for (int i = 0; i < 2; ++i) {
    const RawAnswer refused = post(proxy, "k");
    EXPECT_EQ(refused.status, 502);
    EXPECT_EQ(field(refused.body, "code"), "unknown") << refused.body;
  }
  EXPECT_EQ(post(proxy, "k", "another body").status, 422);
  EXPECT_EQ(upstream.requests(), 1);
  RawHttp store(server.port());
  const std::string claim = field(lost.body, "claim");
  EXPECT_EQ(store.call("DELETE", "/v1/claims/" + percent_encoded(claim))->status, 204);
  EXPECT_EQ(post(proxy, "k").body, "order 2");
}

TEST(Proxy, H30_AnAnswerThatBreaksOffIsUnknownToo) {
  Upstream upstream([](const std::string&, int) {
    return std::string("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nfour");
  });
  ProxyProcess proxy(upstream.url(), "memory:");
  EXPECT_EQ(field(post(proxy, "k").body, "code"), "unknown");
  EXPECT_EQ(field(post(proxy, "k").body, "code"), "unknown");
  EXPECT_EQ(upstream.requests(), 1);
}

TEST(Proxy, H30_AfterUnknownRetryFreesTheKey) {
  Upstream upstream([](const std::string& request, int number) {
    return number == 1 ? "" : created(request, number);
  });
  ProxyProcess proxy(upstream.url(), "memory:", {"--after-unknown=retry"});
  EXPECT_EQ(field(post(proxy, "k").body, "code"), "unknown");
  EXPECT_EQ(post(proxy, "k").body, "order 2");
  EXPECT_EQ(post(proxy, "k").body, "order 2");
}

TEST(Proxy, H30_AnUpstreamThatTakesTooLongIsUnknown) {
  Gate gate;
  Upstream upstream([&](const std::string& request, int number) {
    gate.wait();
    return created(request, number);
  });
  ProxyProcess proxy(upstream.url(), "memory:", {"--upstream-timeout", "100ms"});
  const RawAnswer late = post(proxy, "k");
  EXPECT_EQ(late.status, 502);
  EXPECT_EQ(field(late.body, "code"), "unknown") << late.body;
  EXPECT_EQ(field(post(proxy, "k").body, "code"), "unknown");
  EXPECT_EQ(upstream.requests(), 1);
  gate.open();
}

TEST(Proxy, AStoreThatIsDownRefusesUnlessToldToProceed) {
  int port = 0;
  {
    Upstream gone(created);
    port = gone.port();
  }
  const std::string store = "http://127.0.0.1:" + std::to_string(port);
  Upstream upstream(created);
  ProxyProcess careful(upstream.url(), store);
  const RawAnswer refused = post(careful, "k");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.header("Retry-After"), "");
  EXPECT_EQ(upstream.requests(), 0);
  ProxyProcess careless(upstream.url(), store, {"--if-store-down", "proceed"});
  EXPECT_EQ(post(careless, "k").status, 201);
}

}  // namespace
}  // namespace once::testing
