// Who may ask, as a table: the headers of a request, and what is said to it.
#include "server/judgement.h"

#include <gtest/gtest.h>

namespace once::server {
namespace {

constexpr std::string_view kReached = "192.0.2.7";  // What the peer connected to.

wire::Request request(std::vector<wire::Headers::Field> fields, std::string method = "POST") {
  wire::Request head{.method = std::move(method), .target = "/v1/claims/a"};
  for (auto& [name, value] : fields) head.headers.add(std::move(name), std::move(value));
  return head;
}

Judgement judgement() {
  BrowserRules rules;
  rules.origins = {*parse_origin("https://app.example"), *parse_origin("http://localhost:3000")};
  rules.hosts = {*parse_host("once.example"), *parse_host("two.example:8443")};
  return Judgement(rules);
}

std::string shown(const std::optional<BrowserRefusal>& refusal) {
  return refusal ? std::string(kBrowserRefusals[static_cast<std::size_t>(*refusal)]) : "welcome";
}

struct Row {
  std::vector<wire::Headers::Field> headers;
  std::string_view verdict;
};

std::string text_of(const Row& row) {
  std::string text;
  for (const auto& [name, value] : row.headers) {
    text.append(name).append(": ").append(value).append("; ");
  }
  return text;
}

void expect_each(const std::vector<Row>& rows) {
  Judgement judge = judgement();
  judge.listens_on("0.0.0.0");
  for (const Row& row : rows) {
    EXPECT_EQ(shown(judge.judge(request(row.headers), kReached).refusal), row.verdict)
        << text_of(row);
  }
}

TEST(Judgement, AHostIsTheListeningAddressOneOfLoopbackOrListed) {
  const auto host = [](std::string value) {
    return std::vector<wire::Headers::Field>{{"Host", std::move(value)}};
  };
  expect_each({
      {{}, "welcome"},  // Of HTTP/1.0: no browser.
      {host("localhost"), "welcome"},
      {host("LocalHost:7600"), "welcome"},
      {host("127.0.0.1:7600"), "welcome"},
      {host("127.8.9.1"), "welcome"},
      {host("[::1]:7600"), "welcome"},
      {host("[0:0:0:0:0:0:0:1]"), "welcome"},
      {host("0.0.0.0:7600"), "welcome"},
      {host("192.0.2.7:7600"), "welcome"},
      {host("[::ffff:192.0.2.7]"), "welcome"},
      {host("once.example"), "welcome"},
      {host("ONCE.example:1234"), "welcome"},
      {host("two.example:8443"), "welcome"},
      {host("two.example"), "host"},
      {host("two.example:8444"), "host"},
      {host("evil.example:7600"), "host"},
      {host("192.0.2.8"), "host"},
      {host("localhost.evil.example"), "host"},
      {host("127.0.0.1.evil.example"), "host"},
      {host("127.evil.example"), "host"},
      {host("xlocalhost"), "host"},
      {host("once.example.evil.example"), "host"},
      {host("x.once.example"), "host"},
      {host(""), "host"},
      {host(":7600"), "host"},
      {host("localhost:"), "host"},
      {host("localhost:x"), "host"},
      {host("localhost:7600:7600"), "host"},
      {host("evil.example@localhost"), "host"},
      {host("localhost/evil.example"), "host"},
      {host("localhost, evil.example"), "host"},
      {host("[::1"), "host"},
      {host("[localhost]"), "host"},
      {host("::1"), "host"},
      {{{"Host", "localhost"}, {"Host", "localhost"}}, "host"},
  });
}

TEST(Judgement, AnOriginIsTheServersOwnOrListed) {
  const auto from = [](std::string origin, std::string host = "localhost:7600") {
    return std::vector<wire::Headers::Field>{{"Host", std::move(host)},
                                             {"Origin", std::move(origin)}};
  };
  expect_each({
      {from("http://localhost:7600"), "welcome"},
      {from("HTTP://LOCALHOST:7600"), "welcome"},
      {from("http://localhost", "localhost:80"), "welcome"},
      {from("http://[::1]:7600", "[::1]:7600"), "welcome"},
      {from("http://once.example:7600", "once.example:7600"), "welcome"},
      {from("https://app.example"), "welcome"},
      {from("https://app.example:443"), "welcome"},
      {from("http://localhost:3000"), "welcome"},
      {from("http://127.0.0.1:7600"), "origin"},  // The same server, by another name.
      {from("http://localhost:7601"), "origin"},
      {from("http://localhost"), "origin"},
      {from("https://localhost:7600"), "origin"},
      {from("http://app.example"), "origin"},
      {from("https://app.example:444"), "origin"},
      {from("https://evil.app.example"), "origin"},
      {from("https://app.example.evil.example"), "origin"},
      {from("https://evil.example"), "origin"},
      {from("null"), "origin"},
      {from(""), "origin"},
      {from("*"), "origin"},
      {from("file://"), "origin"},
      {from("https://app.example https://evil.example"), "origin"},
      {from("https://app.example/"), "origin"},
      {{{"Host", "localhost:7600"},
        {"Origin", "https://app.example"},
        {"Origin", "https://app.example"}},
       "origin"},
      {{{"Origin", "http://localhost:7600"}}, "origin"},  // Of which server, nobody says.
      {from("https://app.example", "evil.example"), "host"},
      {from("http://evil.example", "evil.example"), "host"},
  });
}

TEST(Judgement, WhatAPageOfAnotherSiteSendsIsRefusedUnlessItsOriginIsListed) {
  const auto from = [](std::string site) {
    return std::vector<wire::Headers::Field>{{"Host", "localhost"},
                                             {"Sec-Fetch-Site", std::move(site)}};
  };
  const auto with = [&](std::string site, std::string origin) {
    auto fields = from(std::move(site));
    fields.push_back({"Origin", std::move(origin)});
    return fields;
  };
  expect_each({
      {from("none"), "welcome"},  // Typed into the address bar.
      {from("same-origin"), "welcome"},
      {from("same-site"), "welcome"},
      {from("cross-site"), "cross_site"},
      {from("Cross-Site"), "cross_site"},
      {from("none, cross-site"), "cross_site"},  // Two lines that something on the way made one.
      {{{"Host", "localhost"}, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "cross-site"}},
       "cross_site"},
      {with("cross-site", "https://app.example"), "welcome"},
      {with("cross-site", "https://evil.example"), "origin"},
      {with("cross-site", "http://localhost"), "cross_site"},
      {with("same-origin", "https://evil.example"), "origin"},
  });
}

TEST(Judgement, AnswersToAListedOriginMayBeReadByItsScriptsAndNoOthers) {
  Judgement judge = judgement();
  const std::string listed =
      judge.judge(request({{"Host", "localhost"}, {"Origin", "https://app.example"}}), kReached)
          .headers;
  EXPECT_NE(listed.find("Access-Control-Allow-Origin: https://app.example\r\n"), std::string::npos);
  EXPECT_NE(listed.find("Vary: Origin\r\n"), std::string::npos);
  EXPECT_EQ(listed.find("Allow-Credentials"), std::string::npos);
  EXPECT_EQ(listed.find("Allow-Methods"), std::string::npos);
  const std::string own = judge.judge(request({{"Host", "localhost"}}), kReached).headers;
  EXPECT_EQ(own, "Vary: Origin\r\n");  // A cache must not give it to a page either.
  Judgement none(BrowserRules{});
  EXPECT_EQ(none.judge(request({{"Host", "localhost"}}), kReached).headers, "");
}

TEST(Judgement, APreflightOfAListedOriginIsToldWhatItMaySend) {
  Judgement judge = judgement();
  const auto asking = [](std::string origin) {
    return request({{"Host", "localhost"},
                    {"Origin", std::move(origin)},
                    {"Access-Control-Request-Method", "PUT"},
                    {"Access-Control-Request-Headers", "authorization,if-match"}},
                   "OPTIONS");
  };
  const std::string told = judge.judge(asking("https://app.example"), kReached).headers;
  EXPECT_NE(told.find("Access-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE\r\n"),
            std::string::npos);
  EXPECT_NE(told.find("Access-Control-Allow-Headers: authorization,if-match\r\n"),
            std::string::npos);
  EXPECT_EQ(shown(judge.judge(asking("https://evil.example"), kReached).refusal), "origin");
}

TEST(Judgement, CountsWhatItRefusesByReason) {
  Judgement judge = judgement();
  judge.judge(request({{"Host", "evil.example"}}), kReached);
  judge.judge(request({{"Host", "evil.example"}}), kReached);
  judge.judge(request({{"Host", "localhost"}, {"Origin", "null"}}), kReached);
  EXPECT_EQ(judge.refused(BrowserRefusal::host), 2U);
  EXPECT_EQ(judge.refused(BrowserRefusal::origin), 1U);
  EXPECT_EQ(judge.refused(BrowserRefusal::cross_site), 0U);
}

TEST(Judgement, OfAProxyIsTheUpstreams) {
  BrowserRules rules;
  rules.judges = false;
  Judgement judge(rules);
  const Verdict verdict =
      judge.judge(request({{"Host", "shop.example"}, {"Origin", "null"}}), kReached);
  EXPECT_EQ(shown(verdict.refusal), "welcome");
  EXPECT_EQ(verdict.headers, "");
}

TEST(Judgement, ARefusalIsAProblemWithItsStatus) {
  EXPECT_EQ(refusal_of(BrowserRefusal::origin).status, 403);
  EXPECT_EQ(refusal_of(BrowserRefusal::cross_site).status, 403);
  const wire::Response misdirected = refusal_of(BrowserRefusal::host);
  EXPECT_EQ(misdirected.status, 421);
  EXPECT_EQ(wire::media_type(misdirected.headers), "application/problem+json");
  EXPECT_NE(misdirected.body.find(R"("status":421)"), std::string::npos);
  EXPECT_NE(misdirected.body.find(R"("code":"forbidden")"), std::string::npos);
}

}  // namespace
}  // namespace once::server
