#include "api/hot_keys.h"
#include "api/service_fixture.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

const Time kStart{std::chrono::days(20'000)};

std::string named(const std::vector<HotKeys::Hot>& keys) {
  std::string out;
  for (const HotKeys::Hot& hot : keys) {
    out += hot.key + "=" + std::to_string(hot.conflicts) + " ";
  }
  return out;
}

TEST(HotKeysTest, TheHottestComeFirstByNamespace) {
  HotKeys keys;
  for (const char* key : {"b", "a", "c", "c"}) keys.conflicted("n", key, kStart);
  keys.conflicted("m", "x", kStart);
  keys.conflicted("o", "y", kStart);
  EXPECT_EQ(named(keys.hottest("n", 100, kStart)), "c=2 a=1 b=1 ");
  EXPECT_EQ(named(keys.hottest("n", 1, kStart)), "c=2 ");
  EXPECT_EQ(named(keys.hottest("", 100, kStart)), "");
}

TEST(HotKeysTest, APrefixIsThatOfTheNameWithOrWithoutItsKind) {
  HotKeys keys;
  for (const char* key : {"docs/a/1", "docs/b", "claims/a/2", "claims/docs"}) {
    keys.conflicted("n", key, kStart);
  }
  EXPECT_EQ(named(keys.hottest("n", 100, kStart, "a/")), "claims/a/2=1 docs/a/1=1 ");
  EXPECT_EQ(named(keys.hottest("n", 100, kStart, "docs/")), "docs/a/1=1 docs/b=1 ");
  EXPECT_EQ(named(keys.hottest("n", 100, kStart, "x")), "");
}

TEST(HotKeysTest, CountsHalveEveryMinuteAfterTheFirstUntilNothingIsLeft) {
  HotKeys keys;
  for (int i = 0; i < 5; ++i) keys.conflicted("n", "a", kStart);
  keys.conflicted("n", "b", kStart);
  EXPECT_EQ(named(keys.hottest("n", 100, kStart + 119s)), "a=5 b=1 ");
  EXPECT_EQ(named(keys.hottest("n", 100, kStart + 120s)), "a=2 ");
  EXPECT_EQ(named(keys.hottest("n", 100, kStart + 179s)), "a=2 ");
  EXPECT_EQ(named(keys.hottest("n", 100, kStart + 180s)), "a=1 ");
  EXPECT_EQ(named(keys.hottest("n", 100, kStart + 1000h)), "");
}

TEST(HotKeysTest, AConflictOfAMomentAgoIsShownAtTheTurnOfTheMinute) {
  HotKeys keys;
  keys.conflicted("n", "a", kStart + 59s);
  EXPECT_EQ(named(keys.hottest("n", 100, kStart + 60s)), "a=1 ");
  EXPECT_EQ(named(keys.hottest("n", 100, kStart + 119s)), "a=1 ");
  EXPECT_EQ(named(keys.hottest("n", 100, kStart + 3min)), "");
}

TEST(HotKeysTest, NoFloodOfKeysIsRememberedButTheHottestIs) {
  HotKeys keys;
  std::size_t most = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (i % 100 == 0) keys.conflicted("n", "hot", kStart);
    keys.conflicted("n", std::to_string(i), kStart);
    if (i % 500 == 0) most = std::max(most, keys.hottest("n", 1'000'000, kStart).size());
  }
  EXPECT_GT(most, HotKeys::kMaxKeys / 2);
  EXPECT_LE(most, HotKeys::kMaxKeys);
  EXPECT_EQ(keys.hottest("n", 1, kStart).at(0).key, "hot");
}

class ApiHot : public ServiceFixture {
 protected:
  std::string hot(std::vector<Headers::Field> headers = {}) {
    return call("GET", "/v1/hot", "", std::move(headers)).body;
  }
};

TEST_F(ApiHot, NothingIsHotAtFirst) { EXPECT_EQ(hot(), R"({"keys":[]})"); }

TEST_F(ApiHot, BusyClaimsAndFencedTicketsCount) {
  const std::string ticket = field(post("/v1/claims/a%2Fb", "{}"), "ticket");
  EXPECT_EQ(hot(), R"({"keys":[]})");
  post("/v1/claims/a%2Fb", "{}");
  EXPECT_EQ(hot(), R"({"keys":[{"key":"claims/a/b","conflicts":1}]})");
  EXPECT_EQ(hot({{"Once-Namespace", "other"}}), R"({"keys":[]})");
  call("DELETE", "/v1/claims/a%2Fb");
  for (const char* verb : {"renew", "complete", "release"}) {
    post(std::string("/v1/claims/a%2Fb/") + verb, R"({"ticket":")" + ticket + R"("})");
  }
  post("/v1/commit", R"({"claim":{"key":"a/b","ticket":")" + ticket + R"("}})");
  EXPECT_EQ(hot(), R"({"keys":[{"key":"claims/a/b","conflicts":5}]})");
  clock_.advance(2min);
  EXPECT_EQ(hot(), R"({"keys":[{"key":"claims/a/b","conflicts":2}]})");
}

TEST_F(ApiHot, LostConditionsOfDocumentsCount) {
  const std::vector<Headers::Field> create = {{"If-None-Match", "*"}};
  const std::vector<Headers::Field> stale = {{"If-Match", "\"0123456789abcdef\""},
                                             {"Content-Type", "application/merge-patch+json"}};
  call("PUT", "/v1/docs/d", "{}", create);
  EXPECT_EQ(hot(), R"({"keys":[]})");
  call("PUT", "/v1/docs/d", "{}", create);
  call("PUT", "/v1/docs/d", "{}", stale);
  call("PATCH", "/v1/docs/d", "{}", stale);
  call("DELETE", "/v1/docs/d", "", stale);
  post("/v1/commit", R"({"docs":[{"key":"d","if_none_match":"*","body":1}]})");
  EXPECT_EQ(hot(), R"({"keys":[{"key":"docs/d","conflicts":5}]})");
}

TEST_F(ApiHot, AtMostAHundredAreListed) {
  for (int i = 0; i < 120; ++i) {
    const std::string path = "/v1/claims/" + std::to_string(i);
    post(path, "{}");
    post(path, "{}");
  }
  const std::string body = hot();
  std::size_t count = 0;
  for (std::size_t at = body.find("claims/"); at != std::string::npos;
       at = body.find("claims/", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 100U);
  expect_problem(get("/v1/hot?limit=5"), 400, "invalid");
}

}  // namespace
}  // namespace once::api
