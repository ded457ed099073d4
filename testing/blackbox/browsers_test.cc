// What a web page in a browser of this machine can do to a server on loopback: requests as browsers
// send them, byte for byte.
#include <gtest/gtest.h>

#include "testing/proxy_process.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

// A request with these headers and no others.
std::string bytes_of(std::string_view line, std::string_view headers, std::string_view body = "") {
  std::string out(line);
  out.append(" HTTP/1.1\r\n").append(headers);
  if (!body.empty()) out.append("Content-Length: " + std::to_string(body.size()) + "\r\n");
  return out.append("\r\n").append(body);
}

std::optional<RawAnswer> answer_to(const ServerProcess& server, const std::string& bytes) {
  RawHttp peer(server.port());
  peer.send(bytes);
  return peer.receive();
}

std::string at(const ServerProcess& server, std::string_view host = "127.0.0.1") {
  return "Host: " + std::string(host) + ":" + std::to_string(server.port()) + "\r\n";
}

void expect_refused(const std::optional<RawAnswer>& answer, int status) {
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, status) << answer->body;
  EXPECT_EQ(answer->header("Content-Type"), "application/problem+json");
  EXPECT_NE(answer->body.find(R"("code":"forbidden")"), std::string::npos) << answer->body;
  EXPECT_EQ(answer->header("Access-Control-Allow-Origin"), "");
  EXPECT_NE(answer->header("X-Request-Id"), "");
}

// What any page can send without asking first: a form, or fetch() with mode "no-cors".
constexpr std::string_view kPage =
    "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"
    "Content-Type: text/plain;charset=UTF-8\r\n";

TEST(Browsers, H42_APageOfAnotherOriginWritesNothingAndMakesNoToken) {
  ServerProcess server("memory:");
  ASSERT_TRUE(server.running()) << server.ready_line();
  const std::string headers = at(server) + std::string(kPage);
  expect_refused(answer_to(server, bytes_of("POST /v1/claims/a", headers, "{}")), 403);
  expect_refused(answer_to(server, bytes_of("POST /v1/tokens", headers, "{}")), 403);
  expect_refused(answer_to(server, bytes_of("POST /v1/logs/s", headers, "a line")), 403);
  const auto open = answer_to(server, bytes_of("GET /v1/tokens", at(server)));
  ASSERT_TRUE(open && open->status == 200);  // The owner is not locked out.
  EXPECT_EQ(open->body, R"({"tokens":[]})");
  EXPECT_EQ(answer_to(server, bytes_of("GET /v1/claims/a", at(server)))->status, 404);
  EXPECT_EQ(answer_to(server, bytes_of("GET /v1/logs/s", at(server)))->body,
            R"({"events":[],"next":1})");
}

TEST(Browsers, APageOfAnotherOriginIsRefusedWithOnlyOneOfTheHeaders) {
  ServerProcess server("memory:");
  ASSERT_TRUE(server.running()) << server.ready_line();
  const std::string host = at(server);
  expect_refused(
      answer_to(server, bytes_of("POST /v1/seen", host + "Origin: null\r\n", R"({"ids":["a"]})")),
      403);
  expect_refused(
      answer_to(server, bytes_of("GET /v1/items", host + "Sec-Fetch-Site: cross-site\r\n")), 403);
  expect_refused(
      answer_to(server, bytes_of("GET /healthz", host + "Origin: https://x.example\r\n")), 403);
}

TEST(Browsers, ThePagesOfTheServerItselfMayCall) {
  ServerProcess server("memory:");
  ASSERT_TRUE(server.running()) << server.ready_line();
  for (const char* name : {"127.0.0.1", "localhost"}) {
    const std::string host = at(server, name);
    const std::string own = "Origin: http://" + host.substr(6) + "Sec-Fetch-Site: same-origin\r\n";
    EXPECT_EQ(answer_to(server, bytes_of("POST /v1/claims/" + std::string(name), host + own, "{}"))
                  ->status,
              201);
  }
}

TEST(Browsers, H42_ANameThatWasMadeToResolveToThisMachineReadsNothing) {
  ServerProcess server("memory:");
  ASSERT_TRUE(server.running()) << server.ready_line();
  // The page is of the same origin, as its browser sees it.
  const std::string rebound = at(server, "evil.example") + "Sec-Fetch-Site: same-origin\r\n";
  expect_refused(answer_to(server, bytes_of("GET /v1/items", rebound)), 421);
  expect_refused(answer_to(server, bytes_of("GET /", rebound)), 421);
  const std::string own = "Origin: http://evil.example:" + std::to_string(server.port()) + "\r\n";
  expect_refused(answer_to(server, bytes_of("POST /v1/tokens", rebound + own, "{}")), 421);
}

TEST(Browsers, ANameThatIsListedIsTheServersOwn) {
  ServerProcess server("memory:", {"--host", "once.example", "--host", "a.example,b.example"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  for (const char* name : {"once.example", "a.example", "b.example", "localhost"}) {
    EXPECT_EQ(answer_to(server, bytes_of("GET /healthz", at(server, name)))->status, 200) << name;
  }
  expect_refused(answer_to(server, bytes_of("GET /healthz", at(server, "c.example"))), 421);
}

TEST(Browsers, ARequestThatIsRefusedIsRefusedBeforeItsBodyIsThere) {
  ServerProcess server("memory:");
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  peer.send("PUT /v1/docs/d HTTP/1.1\r\n" + at(server) + std::string(kPage) +
            "If-None-Match: *\r\nContent-Length: 100000\r\n\r\n{");
  expect_refused(peer.receive(), 403);
}

TEST(Browsers, APageOfAListedOriginAsksFirstAndThenCallsAndReadsTheAnswer) {
  ServerProcess server("memory:", {"--allow-origin", "https://app.example"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  const std::string page =
      at(server) + "Origin: https://app.example\r\nSec-Fetch-Site: cross-site\r\n";
  const auto preflight = answer_to(
      server,
      bytes_of("OPTIONS /v1/docs/d", page + "Access-Control-Request-Method: PUT\r\n"
                                            "Access-Control-Request-Headers: if-none-match\r\n"));
  ASSERT_TRUE(preflight.has_value());
  EXPECT_EQ(preflight->status, 204);
  EXPECT_EQ(preflight->header("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_NE(preflight->header("Access-Control-Allow-Methods").find("PUT"), std::string::npos);
  EXPECT_EQ(preflight->header("Access-Control-Allow-Headers"), "if-none-match");
  EXPECT_NE(preflight->header("Access-Control-Max-Age"), "");
  EXPECT_EQ(preflight->header("Vary"), "Origin");
  const auto made =
      answer_to(server, bytes_of("PUT /v1/docs/d", page + "If-None-Match: *\r\n", "{}"));
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->header("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_NE(made->header("Access-Control-Expose-Headers").find("ETag"), std::string::npos);
  // A script may read why it was refused, and follow a log.
  const auto missing = answer_to(server, bytes_of("GET /v1/docs/none", page));
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(missing->header("Access-Control-Allow-Origin"), "https://app.example");
  const auto followed = answer_to(server, bytes_of("GET /v1/logs/s?follow=true", page));
  EXPECT_EQ(followed->status, 200);
  EXPECT_EQ(followed->header("Access-Control-Allow-Origin"), "https://app.example");
  const std::string other = at(server) + "Origin: https://evil.example\r\n";
  expect_refused(answer_to(server, bytes_of("OPTIONS /v1/docs/d",
                                            other + "Access-Control-Request-Method: PUT\r\n")),
                 403);
}

TEST(Browsers, APreflightNeedsNoToken) {
  ServerProcess server("memory:", {"--allow-origin", "https://app.example"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  ASSERT_EQ(answer_to(server, bytes_of("POST /v1/tokens", at(server), "{}"))->status, 201);
  const std::string page = at(server) + "Origin: https://app.example\r\n";
  EXPECT_EQ(answer_to(server, bytes_of("OPTIONS /v1/claims/a",
                                       page + "Access-Control-Request-Method: POST\r\n"
                                              "Access-Control-Request-Headers: authorization\r\n"))
                ->status,
            204);
  const auto refused = answer_to(server, bytes_of("POST /v1/claims/a", page, "{}"));
  EXPECT_EQ(refused->status, 401);
  EXPECT_EQ(refused->header("Access-Control-Allow-Origin"), "https://app.example");
}

TEST(Browsers, AStoredPageIsNoPageOfTheServer) {
  ServerProcess server("memory:");
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  const auto made = peer.call("PUT", "/v1/docs/page", "<script>fetch('/v1/items')</script>",
                              "If-None-Match: *\r\nContent-Type: text/html\r\n");
  ASSERT_EQ(made->status, 201);
  const auto expect_guarded = [](const std::optional<RawAnswer>& answer, int status) {
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, status);
    EXPECT_EQ(answer->header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer->header("Content-Security-Policy"), "sandbox");
  };
  expect_guarded(peer.call("GET", "/v1/docs/page"), 200);
  expect_guarded(peer.call("HEAD", "/v1/docs/page"), 200);
  expect_guarded(
      peer.call("GET", "/v1/docs/page", "", "If-None-Match: " + made->header("ETag") + "\r\n"),
      304);
  ASSERT_EQ(peer.call("PUT", "/v1/docs/j", "{}", "If-None-Match: *\r\n")->status, 201);
  expect_guarded(peer.call("PATCH", "/v1/docs/j", R"({"a":1})",
                           "Content-Type: application/merge-patch+json\r\n"),
                 200);
}

TEST(Browsers, AProxyLeavesItsUpstreamToSayWhichPagesMayCall) {
  Upstream upstream(
      [](const std::string&, int) { return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"; });
  const ProxyProcess proxy(upstream.url(), "memory:");
  ASSERT_TRUE(proxy.running()) << proxy.ready_line();
  RawHttp peer(proxy.port());
  peer.send(bytes_of("POST /pay", "Host: shop.example\r\n" + std::string(kPage), "{}"));
  const auto answer = peer.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 200) << answer->body;
}

TEST(Browsers, RefusalsAreCountedByReason) {
  ServerProcess server("memory:");
  ASSERT_TRUE(server.running()) << server.ready_line();
  answer_to(server, bytes_of("GET /", at(server, "evil.example")));
  answer_to(server, bytes_of("GET /", at(server) + "Origin: null\r\n"));
  answer_to(server, bytes_of("GET /", at(server) + "Origin: null\r\n"));
  const auto metrics = answer_to(server, bytes_of("GET /metrics", at(server)));
  for (const char* line : {"once_browser_refusals_total{reason=\"host\"} 1\n",
                           "once_browser_refusals_total{reason=\"origin\"} 2\n",
                           "once_browser_refusals_total{reason=\"cross_site\"} 0\n"}) {
    EXPECT_NE(metrics->body.find(line), std::string::npos) << line;
  }
}

TEST(Browsers, OriginsAndHostsThatAreNoneAreRefusedByName) {
  for (const auto& [option, value] : {
           std::pair("--allow-origin", "*"),
           std::pair("--allow-origin", "null"),
           std::pair("--allow-origin", "app.example"),
           std::pair("--allow-origin", "https://app.example/path"),
           std::pair("--host", "http://once.example"),
           std::pair("--host", "*"),
           std::pair("--host", "once.example:port"),
       }) {
    ChildProcess once(ONCE_BINARY,
                      {"serve", "--store", "memory:", "--listen", "127.0.0.1:0", option, value});
    EXPECT_EQ(once.wait(), 64) << option << " " << value;
  }
}

}  // namespace
}  // namespace once::testing
