// Bad input of every kind, from outside: a clear 4xx, and nothing has changed.
#include <gtest/gtest.h>

#include <limits>

#include "primitives/forged_ticket.h"
#include "testing/blackbox/served_store.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

class BadInput : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.ready_line(); }

  void expect_refused(const std::string& method, const std::string& target, const std::string& body,
                      const std::string& headers = "", int status = 400) {
    RawHttp peer(server_.port());
    const auto answer = peer.call(method, target, body, headers);
    const std::string what = method + " " + target + " " + body.substr(0, 80) + " " + headers;
    ASSERT_TRUE(answer.has_value()) << what;
    EXPECT_EQ(answer->status, status) << what << answer->body;
    EXPECT_EQ(answer->header("Content-Type"), "application/problem+json") << what;
    EXPECT_TRUE(answer->body.starts_with("{\"status\":" + std::to_string(status) + ",")) << what;
    EXPECT_NE(answer->body.find("\"code\":\""), std::string::npos) << what;
    EXPECT_EQ(answer->body.find("\"detail\":\"\""), std::string::npos) << what;
    EXPECT_EQ(peer.call("GET", "/healthz")->status, 200) << what;
  }

  // Nothing of what was refused is there.
  void expect_nothing_there() {
    RawHttp peer(server_.port());
    EXPECT_EQ(peer.call("GET", "/v1/claims")->body, R"({"claims":[],"cursor":null})");
    EXPECT_EQ(peer.call("GET", "/v1/logs/s")->body, R"({"events":[],"next":1})");
    EXPECT_EQ(peer.call("GET", "/v1/docs/d")->status, 404);
    EXPECT_EQ(peer.call("GET", "/v1/tallies/t")->status, 404);
  }

  ServedStore store_;
  ServerProcess server_{store_.address()};
};

TEST_F(BadInput, NumbersBeyond64BitsAreRefused) {
  for (const char* number : {"9223372036854775808", "-9223372036854775809",
                             "99999999999999999999999999", "1e400", "1.5", "\"1\"", "NaN"}) {
    const std::string value(number);
    expect_refused("POST", "/v1/tallies/t", R"({"kind":"sum","add":)" + value + "}");
    expect_refused("POST", "/v1/tallies/t", R"({"kind":"max","value":)" + value + "}");
    expect_refused("POST", "/v1/logs/s", R"({"events":[{"data":1}],"expect":)" + value + "}");
    expect_refused("POST", "/v1/logs/s/trim", R"({"before":)" + value + "}");
    expect_refused("GET", "/v1/logs/s?from=" + value, "");
  }
  expect_nothing_there();
}

// By a client that knows all but the store's secret.
TEST_F(BadInput, H46_AForgedTicketIsFencedAndTheListingSurvives) {
  RawHttp peer(server_.port());
  const auto ticket_in = [](const std::string& body) {
    const std::size_t at = body.find(R"("ticket":")") + 10;
    return Ticket{body.substr(at, body.find('"', at) - at)};
  };
  const Ticket mine = ticket_in(peer.call("POST", "/v1/claims/mine", "{}")->body);
  const Ticket victims = ticket_in(peer.call("POST", "/v1/claims/victims", "{}")->body);
  const std::string before = peer.call("GET", "/v1/claims")->body;
  const auto raise = [](claims::OpenTicket& ticket) {
    ticket.record.fence = std::numeric_limits<std::int64_t>::max();
  };
  const auto guess = [&](claims::OpenTicket& ticket) {
    ticket = changed(victims, [](claims::OpenTicket&) {});
  };
  const auto expect_fenced = [&](const std::string& name, const Ticket& ticket) {
    const std::string field = R"("ticket":")" + ticket.text + R"(")";
    for (const std::string verb : {"renew", "complete", "release"}) {
      expect_refused("POST", "/v1/claims/" + name + "/" + verb, "{" + field + "}", "", 412);
    }
    if (ServedStore::harness().commits != StoreHarness::Commits::of_one_write) {
      expect_refused("POST", "/v1/commit", R"({"claim":{"key":")" + name + R"(",)" + field + "}}",
                     "", 412);
    }
  };
  expect_fenced("mine", forged(mine, claims::claim_key("default", "mine"), raise));
  expect_fenced("mine", old_form(mine, raise));
  expect_fenced("victims", forged(mine, claims::claim_key("default", "victims"), guess));
  expect_fenced("victims", old_form(mine, guess));
  expect_fenced("victims", mine);
  EXPECT_EQ(peer.call("GET", "/v1/claims")->body, before);
  for (const auto& [name, ticket] : {std::pair("mine", mine), std::pair("victims", victims)}) {
    const std::string body = R"({"ticket":")" + ticket.text + R"("})";
    EXPECT_EQ(peer.call("POST", std::string("/v1/claims/") + name + "/complete", body)->status,
              200);
  }
}

TEST_F(BadInput, NestingIsBounded) {
  for (const std::size_t depth : {101U, 10'000U, 500'000U}) {
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    expect_refused("POST", "/v1/claims/c", deep);
    expect_refused("POST", "/v1/logs/s", R"({"events":[{"data":)" + deep + "}]}");
    expect_refused("POST", "/v1/commit",
                   R"({"docs":[{"key":"d","if_none_match":"*","body":)" + deep + "}]}");
  }
  expect_nothing_there();
}

TEST_F(BadInput, WhatIsNotUtf8IsRefused) {
  for (const char* bytes : {"\xff", "\xc3\x28", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xc0\xaf"}) {
    const std::string bad(bytes);
    expect_refused("POST", "/v1/claims/c", R"({"owner":")" + bad + R"("})");
    expect_refused("POST", "/v1/seen", R"({"ids":[")" + bad + R"("]})");
    expect_refused("POST", "/v1/logs/s", bad, "Content-Type: text/plain\r\n");
  }
  for (const char* path : {"%ff", "%c3%28", "%ed%a0%80", "%00", "%0a", "%7f", "%c2%85"}) {
    expect_refused("POST", "/v1/claims/" + std::string(path), "{}");
    expect_refused("PUT", "/v1/docs/" + std::string(path), "x", "If-None-Match: *\r\n");
  }
  expect_nothing_there();
}

TEST_F(BadInput, BadPercentEncodingIsRefused) {
  for (const char* path : {"%", "%2", "%zz", "a%2", "%%"}) {
    expect_refused("POST", "/v1/claims/" + std::string(path), "{}");
    expect_refused("GET", "/v1/claims?cursor=" + std::string(path), "");
  }
  expect_nothing_there();
}

TEST_F(BadInput, NamesAreOneTo512Bytes) {
  expect_refused("POST", "/v1/claims/" + std::string(513, 'a'), "{}");
  expect_refused("POST", "/v1/seen", R"({"ids":[""]})");
  expect_refused("POST", "/v1/seen", R"({"ids":[")" + std::string(513, 'a') + R"("]})");
  expect_refused("POST", "/v1/claims/", "{}");
  expect_refused("GET", "/v1/claims/a", "", "Once-Namespace: a/b\r\n");
  expect_nothing_there();
}

TEST_F(BadInput, HeadersThatAreReadByOneAreNotThereTwice) {
  const std::string create = "If-None-Match: *\r\n";
  for (const char* twice :
       {"Once-Namespace: a\r\nOnce-Namespace: b\r\n",
        "Content-Type: text/plain\r\ncontent-type: text/html\r\n", "If-None-Match: *\r\n",
        "Idempotency-Key: a\r\nIdempotency-Key: b\r\n"}) {
    expect_refused("PUT", "/v1/docs/d", "x", create + twice);
  }
  expect_refused("PUT", "/v1/docs/d", "x", create + "If-Match: \"0123456789abcdef\"\r\n");
  expect_refused("PUT", "/v1/docs/d", "x",
                 create + "Idempotency-Key: " + std::string(256, 'k') + "\r\n");
  expect_nothing_there();
}

TEST_F(BadInput, FieldsAndParametersThatNobodyKnowsAreRefused) {
  expect_refused("POST", "/v1/claims/c", R"({"leese":"30s"})");
  expect_refused("POST", "/v1/claims/c", R"({"owner":"a","owner":"b"})");
  expect_refused("POST", "/v1/seen", R"({"ids":["a"],"tll":"1h"})");
  expect_refused("POST", "/v1/logs/s", R"({"events":[{"data":1,"tme":"x"}]})");
  expect_refused("POST", "/v1/logs/s", R"({"events":[]})");
  expect_refused("POST", "/v1/tallies/t", R"({"kind":"count","valeu":1})");
  expect_refused("POST", "/v1/commit", R"({"tallys":[]})");
  expect_refused("POST", "/v1/commit", R"({"docs":[{"key":"d","body":1}]})");
  expect_refused("GET", "/v1/claims?stat=busy", "");
  expect_refused("GET", "/v1/claims?limit=1&limit=2", "");
  expect_nothing_there();
}

TEST_F(BadInput, DurationsAndTimesAreAsTheContractSays) {
  for (const char* bad :
       {"30", "s", "-1s", "1.5s", "1 s", "30S", "1w", "99999999999999999999d", ""}) {
    expect_refused("POST", "/v1/claims/c", R"({"lease":")" + std::string(bad) + R"("})");
    expect_refused("POST", "/v1/seen", R"({"ids":["a"],"ttl":")" + std::string(bad) + R"("})");
  }
  for (const char* bad : {"now", "2026-13-01T00:00:00Z", "2026-11-15", "2026-11-15T09:30:00"}) {
    expect_refused("POST", "/v1/tallies/t",
                   R"({"kind":"count","window":"day","at":")" + std::string(bad) + R"("})");
    expect_refused("GET", "/v1/tallies/t?from=" + std::string(bad), "");
  }
  expect_nothing_there();
}

TEST_F(BadInput, WhatIsNotJsonIsRefusedWhereJsonIsWanted) {
  for (const char* body :
       {"{", "[]", "null", "{}x", "{'a':1}", "{\"owner\":\"\x01\"}", "\"\\ud800\""}) {
    expect_refused("POST", "/v1/claims/c", body);
    expect_refused("POST", "/v1/commit", body);
  }
  RawHttp peer(server_.port());
  ASSERT_EQ(peer.call("PUT", "/v1/docs/text", "no json", "If-None-Match: *\r\n")->status, 201);
  const std::string merge = "Content-Type: application/merge-patch+json\r\n";
  expect_refused("PATCH", "/v1/docs/text", "{}", merge, 422);
  expect_refused("PATCH", "/v1/docs/text", "{", merge, 400);
  expect_refused("PATCH", "/v1/docs/text", "{}", "Content-Type: text/plain\r\n", 415);
  EXPECT_EQ(peer.call("GET", "/v1/docs/text")->body, "no json");
  expect_nothing_there();
}

TEST_F(BadInput, APathOrMethodThatIsNotThereIsSaidSo) {
  expect_refused("GET", "/v1/nothing", "", "", 404);
  expect_refused("GET", "/v2/claims/a", "", "", 404);
  expect_refused("GET", "/v1/claims/a/b/c", "", "", 404);
  expect_refused("DELETE", "/v1/seen", "", "", 405);
  expect_refused("PUT", "/v1/claims/a", "{}", "", 405);
  expect_refused("BREW", "/v1/claims/a", "{}", "", 405);
  expect_nothing_there();
}

}  // namespace
}  // namespace once::testing
