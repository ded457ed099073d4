// kill -9 under mixed load, again and again: nothing acknowledged is lost, nothing is doubled,
// there is no gap.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "testing/blackbox/mortal.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

constexpr int kClients = 6;
constexpr int kJobs = 40;         // Of each client.
constexpr int kJobsPerKill = 20;  // Of all together.

TEST(Crash, UnderKillsNothingAcknowledgedIsLostNothingIsDoubledAndThereIsNoGap) {
  const TempDir dir;
  Mortal server(dir.path() / "store");
  ASSERT_TRUE(server.running());
  Stubborn judge(server);
  ASSERT_EQ(judge
                .call("PUT", "/v1/docs/list", "[]",
                      "Content-Type: application/json\r\nIf-None-Match: *\r\n")
                .status,
            201);
  std::atomic<int> done = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      Stubborn client(server);
      for (int i = 0; i < kJobs; ++i) {
        if (!do_job(client, "j" + std::to_string(c) + "-" + std::to_string(i))) ++wrong;
        ++done;
        done.notify_all();
      }
    });
  }
  for (int next = kJobsPerKill; next < kClients * kJobs; next += kJobsPerKill) {
    for (int now = done; now < next; now = done) done.wait(now);
    server.kill_and_restart();
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);

  const std::size_t all = kClients * kJobs;
  const RawAnswer log = judge.call("GET", "/v1/logs/log?limit=10000", "");
  EXPECT_NE(log.body.find("\"next\":" + std::to_string(all + 1)), std::string::npos);
  const std::string list = judge.call("GET", "/v1/docs/list", "").body;
  for (const auto& names : {names_in(log.body), names_in(list)}) {
    EXPECT_EQ(names.size(), all);
    for (const auto& [name, times] : names) EXPECT_EQ(times, 1) << name;
  }
  EXPECT_NE(judge.call("GET", "/v1/tallies/sum", "").body.find(":" + std::to_string(all) + "}"),
            std::string::npos);
  for (int c = 0; c < kClients; ++c) {
    const std::string name = "j" + std::to_string(c) + "-0";
    const RawAnswer claim = judge.call("GET", "/v1/claims/" + name, "");
    EXPECT_NE(claim.body.find(R"("state":"done")"), std::string::npos) << claim.body;
    const RawAnswer seen = judge.call("POST", "/v1/seen", R"({"ids":["s)" + name + R"("]})");
    EXPECT_TRUE(seen.body.starts_with(R"({"first":[false])")) << seen.body;
  }
}

}  // namespace
}  // namespace once::testing
