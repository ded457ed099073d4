#include "api/store_walk.h"

#include <thread>

#include "api/service_fixture.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

class StoreWalkTest : public ServiceFixture {
 protected:
  // Waits until the metrics show this, which the thread of the walk brings about, turn by turn.
  bool shows(const std::string& line) {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < until) {
      if (text().find("\n" + line + "\n") != std::string::npos) return true;
      if (clock_.is_waited_on()) clock_.advance(50ms);
      std::this_thread::yield();
    }
    return false;
  }
  std::string text() { return service_.metrics().registry().text(); }

  void put(const std::string& name_space, const std::string& key) {
    const Response made = call("PUT", "/v1/docs/" + key, "12345",
                               {{"If-None-Match", "*"}, {"Once-Namespace", name_space}});
    EXPECT_EQ(made.status, 201) << made.body;
    service_.tenants().find(name_space)->answered(201);
  }
};

TEST_F(StoreWalkTest, CountsWhatEachNamespaceHas) {
  for (int i = 0; i < 1'200; ++i) put("large", "doc" + std::to_string(i));
  put("small", "doc");
  EXPECT_EQ(text().find("once_namespace_used{"), std::string::npos) << "it was not counted yet";
  const StoreWalk walk(*store_, service_.tenants(), service_.metrics().registry(), clock_,
                       {0ms, 5min});
  EXPECT_TRUE(shows(R"(once_namespace_used{namespace="large",of="keys"} 1200)")) << text();
  EXPECT_TRUE(shows(R"(once_namespace_used{namespace="small",of="keys"} 1)"));
  EXPECT_TRUE(shows(R"(once_namespace_used{namespace="other",of="keys"} 0)")) << text();
  EXPECT_NE(text().find(R"(once_namespace_used{namespace="small",of="bytes"} )"),
            std::string::npos);
  put("small", "doc2");
  clock_.advance(5min);
  EXPECT_TRUE(shows(R"(once_namespace_used{namespace="small",of="keys"} 2)")) << "counted again";
}

TEST_F(StoreWalkTest, ANamespaceThatNobodyAskedForIsPartOfOther) {
  call("PUT", "/v1/docs/d", "1", {{"If-None-Match", "*"}, {"Once-Namespace", "quiet"}});
  put("busy", "d");
  const StoreWalk walk(*store_, service_.tenants(), service_.metrics().registry(), clock_,
                       {0ms, 5min});
  EXPECT_TRUE(shows(R"(once_namespace_used{namespace="other",of="keys"} 1)")) << text();
  EXPECT_TRUE(shows(R"(once_namespace_used{namespace="busy",of="keys"} 1)"));
}

TEST_F(StoreWalkTest, ANamespaceSeesItsOwnCountAndNoOther) {
  put("mine", "a");
  put("theirs", "a");
  const StoreWalk walk(*store_, service_.tenants(), service_.metrics().registry(), clock_,
                       {0ms, 5min});
  EXPECT_TRUE(shows(R"(once_namespace_used{namespace="mine",of="keys"} 1)")) << text();
  const std::string page = service_.tenants().page_of("mine");
  EXPECT_NE(page.find(R"(once_namespace_used{namespace="mine",of="keys"} 1)"), std::string::npos);
  EXPECT_EQ(page.find("theirs"), std::string::npos) << page;
  EXPECT_EQ(page.find(R"(namespace="other")"), std::string::npos) << page;
}

TEST_F(StoreWalkTest, IsSeldomWhereReadsAreRequestsToAServer) {
  Limits limits;
  EXPECT_EQ(StoreWalk::pauses(limits, 5min).first, 0ms);
  EXPECT_EQ(StoreWalk::pauses(limits, 5min).later, 5min);
  limits.calls_in_flight = 8;
  EXPECT_EQ(StoreWalk::pauses(limits, 5min).first, 1h);
  EXPECT_EQ(StoreWalk::pauses(limits, 5min).later, 24h);
}

}  // namespace
}  // namespace once::api
