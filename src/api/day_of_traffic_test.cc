// What expires leaves nothing behind, however much there was of it.
#include <thread>

#include "api/service_fixture.h"
#include "api/store_walk.h"
#include "primitives/keys.h"
#include "primitives/log_life_number.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

class DayOfTraffic : public ServiceFixture {
 protected:
  void expect_done(const Response& response) { EXPECT_LT(response.status, 300) << response.body; }

  // What callers of every noun do in a minute, under names that never come again.
  void pass_minute(int minute) {
    const std::string name = "n" + std::to_string(minute);
    const std::string ticket = field(post("/v1/claims/" + name, R"({"ttl":"1h"})"), "ticket");
    const std::string by_ticket = R"({"ticket":")" + ticket + R"(","result":1})";
    expect_done(post("/v1/claims/" + name + "/complete", by_ticket));
    const std::string failing = field(post("/v1/claims/f" + name, R"({"ttl":"1h"})"), "ticket");
    expect_done(post("/v1/claims/f" + name + "/release",
                     R"({"ticket":")" + failing + R"(","failure":"no luck"})"));
    expect_done(post("/v1/claims/left" + name, R"({"lease":"1s"})"));
    expect_done(post("/v1/seen", R"({"ids":[")" + name + R"("],"ttl":"10m"})"));
    expect_done(call("PUT", "/v1/docs/" + name, "x",
                     {{"If-None-Match", "*"}, {"Once-TTL", "1h"}, {"Idempotency-Key", name}}));
    expect_done(post("/v1/tallies/t" + name, R"({"kind":"sum","add":1,"id":"i","ttl":"1h"})"));
    expect_done(post("/v1/tallies/hits", R"({"kind":"distinct","items":[")" + name +
                                             R"("],"window":"minute","ttl":"1h"})"));
    append(name);
    pass_logs(name);
    expect_done(post("/v1/commit", R"({"id":")" + name +
                                       R"(","tallies":[{"key":"c","kind":"count","ttl":"1h"}]})"));
    clock_.advance(1min);
  }

  // A log that is closed and removed, one that ends by itself, and one of a name that comes again.
  void pass_logs(const std::string& name) {
    const std::string event = R"({"events":[{"data":1,"id":"e"}],"id_ttl":"30d","batch":"b"})";
    for (const std::string& log : {"removed" + name, "ending" + name, std::string("again")}) {
      expect_done(post("/v1/logs/" + log, event));
      const bool ends = log.starts_with("ending");
      expect_done(post("/v1/logs/" + log + "/close", ends ? R"({"ttl":"1h"})" : "{}"));
      if (!ends) expect_done(call("DELETE", "/v1/logs/" + log, "", {}));
    }
  }

  void append(const std::string& id) {
    expect_done(post("/v1/logs/builds", R"({"events":[{"data":1,"id":")" + id + R"("}],"batch":")" +
                                            id + R"(","ttl":"1h"})"));
  }

  // As a server's walk through its store does it, which begins at once.
  void walk() {
    metrics::Registry registry;
    const StoreWalk walking(*store_, service_.tenants(), registry, clock_, {0ms, 24h});
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (registry.text().find("\nonce_namespace_used_age_seconds ") == std::string::npos) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      if (clock_.is_waited_on()) clock_.advance(50ms);
      std::this_thread::yield();
    }
  }

  // Without those of the store itself: its secret, and the log of what was removed.
  std::size_t swept_items() {
    while (!store_->sweep(1'000).value().finished) {
    }
    const ListPage page = store_->list({.limit = 1'000}).value();
    EXPECT_EQ(page.items.size(), store_->usage().items);
    return static_cast<std::size_t>(std::ranges::count_if(
        page.items, [](const ListPage::Listed& listed) { return !keys::is_of_store(listed.key); }));
  }
};

// A log that is open stays, and goes on where it was.
TEST_F(DayOfTraffic, IsGoneOnceAllOfItHasExpired) {
  for (int minute = 0; minute < 24 * 60; ++minute) pass_minute(minute);
  EXPECT_GT(store_->usage().items, 1'000U);
  clock_.advance(31 * 24h);
  walk();
  clock_.advance(31 * 24h);
  EXPECT_LE(swept_items(), 3U) << "the end of the log, and its two marks";
  EXPECT_EQ(field(get("/v1/logs/builds"), "next"), "1441");
  expect_done(post("/v1/logs/builds/close", "{}"));
  expect_done(call("DELETE", "/v1/logs/builds", "", {}));
  clock_.advance(31 * 24h);
  EXPECT_EQ(swept_items(), 0U);
}

TEST_F(DayOfTraffic, AClosedLogIsGoneAfterItsTimeAlthoughNobodyLooksAtIt) {
  append("one");
  expect_done(post("/v1/logs/builds/close", R"({"ttl":"1h"})"));
  clock_.advance(2h);
  walk();
  clock_.advance(31 * 24h);
  EXPECT_EQ(swept_items(), 0U);
}

// As an earlier version left it, or who crashed right before the first append.
TEST_F(DayOfTraffic, TheNumberOfALifeWithoutALogIsEndedByTheWalk) {
  Write number = put(logs::life_key(logs::stream("default", "gone")), std::int64_t{1}, absent());
  number.version = {1};
  ASSERT_TRUE(committed(*store_->commit({&number, 1})));
  clock_.advance(31 * 24h);
  walk();
  clock_.advance(31 * 24h);
  EXPECT_EQ(swept_items(), 0U);
}

TEST_F(DayOfTraffic, EventsThatAreKeptStayAndSoDoTheirIndexes) {
  expect_done(post("/v1/logs/mixed", R"({"events":[{"data":1},{"data":2}],"ttl":"1h"})"));
  expect_done(post("/v1/logs/mixed", R"({"events":[{"data":3}]})"));
  expect_done(post("/v1/logs/mixed", R"({"events":[{"data":4}],"ttl":"1h"})"));
  clock_.advance(48h);
  const std::size_t before = store_->usage().items;
  walk();
  EXPECT_LT(swept_items(), before + 3) << "of one record, and two or three marks";
  const Response page = get("/v1/logs/mixed");
  EXPECT_NE(page.body.find(R"("index":3)"), std::string::npos) << page.body;
  EXPECT_NE(page.body.find(R"("index":4)"), std::string::npos) << "behind one that is kept";
  EXPECT_EQ(page.body.find(R"("index":2)"), std::string::npos) << page.body;
}

}  // namespace
}  // namespace once::api
