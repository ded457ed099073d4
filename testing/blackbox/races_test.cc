// Fifty clients at once.
#include <gtest/gtest.h>

#include <barrier>
#include <map>
#include <thread>

#include "testing/blackbox/served_store.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

constexpr int kRacers = 50;

class Races : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.ready_line(); }

  // What each of fifty clients is answered when all of them ask at the same time.
  template <class Ask>
  std::vector<RawAnswer> all_at_once(Ask ask) {
    std::vector<RawAnswer> answers(kRacers);
    std::barrier start(kRacers);
    std::vector<std::thread> clients;
    for (int i = 0; i < kRacers; ++i) {
      clients.emplace_back([&, i] {
        RawHttp peer(server_.port());
        start.arrive_and_wait();
        answers[i] = ask(peer, i).value_or(RawAnswer{});
      });
    }
    for (std::thread& client : clients) client.join();
    return answers;
  }

  static std::map<int, int> by_status(const std::vector<RawAnswer>& answers) {
    std::map<int, int> counts;
    for (const RawAnswer& answer : answers) ++counts[answer.status];
    return counts;
  }

  ServedStore store_;
  ServerProcess server_{store_.address()};
};

TEST_F(Races, OneOfFiftyHoldsAClaim) {
  for (int round = 0; round < 10; ++round) {
    const auto answers = all_at_once([&](RawHttp& peer, int) {
      return peer.call("POST", "/v1/claims/r" + std::to_string(round), "{}");
    });
    EXPECT_EQ(by_status(answers), (std::map<int, int>{{201, 1}, {409, kRacers - 1}}));
  }
}

TEST_F(Races, AnIdIsFirstForOneOfFifty) {
  const auto answers = all_at_once(
      [](RawHttp& peer, int) { return peer.call("POST", "/v1/seen", R"({"ids":["x"]})"); });
  int first = 0;
  for (const RawAnswer& answer : answers) {
    first += answer.body.starts_with(R"({"first":[true])") ? 1 : 0;
  }
  EXPECT_EQ(first, 1);
}

TEST_F(Races, FiftyAppendersLeaveNoGapAndShareNoIndex) {
  const auto answers = all_at_once([](RawHttp& peer, int) {
    return peer.call("POST", "/v1/logs/log", R"({"events":[{"data":1},{"data":2}]})");
  });
  std::map<std::string, int> bodies;
  for (const RawAnswer& answer : answers) {
    EXPECT_EQ(answer.status, 201) << answer.body;
    ++bodies[answer.body];
  }
  EXPECT_EQ(bodies.size(), static_cast<std::size_t>(kRacers));
  RawHttp peer(server_.port());
  const auto page = peer.call("GET", "/v1/logs/log?from=100&limit=1");
  EXPECT_NE(page->body.find("\"next\":101"), std::string::npos) << page->body;
}

TEST_F(Races, FiftyPatchesOfOneDocumentAreAllThere) {
  RawHttp peer(server_.port());
  ASSERT_EQ(peer.call("PUT", "/v1/docs/d", "{}", "If-None-Match: *\r\n")->status, 201);
  const auto answers = all_at_once([](RawHttp& client, int i) {
    return client.call("PATCH", "/v1/docs/d", "{\"c" + std::to_string(i) + "\":1}",
                       "Content-Type: application/merge-patch+json\r\n");
  });
  EXPECT_EQ(by_status(answers), (std::map<int, int>{{200, kRacers}}));
  const std::string document = peer.call("GET", "/v1/docs/d")->body;
  for (int i = 0; i < kRacers; ++i) {
    EXPECT_NE(document.find("\"c" + std::to_string(i) + "\":1"), std::string::npos) << i;
  }
}

TEST_F(Races, FiftyMergesAreAllCounted) {
  const auto answers = all_at_once([](RawHttp& peer, int i) {
    return peer.call("POST", "/v1/tallies/t",
                     R"({"kind":"distinct","items":["i)" + std::to_string(i) + "\"]}");
  });
  EXPECT_EQ(by_status(answers), (std::map<int, int>{{200, kRacers}}));
  RawHttp peer(server_.port());
  EXPECT_EQ(peer.call("GET", "/v1/tallies/t")->body, R"({"kind":"distinct","value":50})");
}

}  // namespace
}  // namespace once::testing
