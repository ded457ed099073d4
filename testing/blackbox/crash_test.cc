// kill -9 under mixed load, again and again: nothing acknowledged is lost, nothing is doubled,
// there is no gap.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

constexpr int kClients = 6;
constexpr int kJobs = 40;         // Of each client.
constexpr int kJobsPerKill = 20;  // Of all together.

// The server as its clients see it: gone now and then, and back at another port.
class Mortal {
 public:
  explicit Mortal(const std::string& store) : server_(store) {}

  std::uint16_t port() {
    const std::lock_guard lock(mutex_);
    return server_.port();
  }
  void kill_and_restart() {
    server_.kill();
    const std::lock_guard lock(mutex_);
    server_.start();
  }
  bool running() const { return server_.running(); }

 private:
  std::mutex mutex_;
  ServerProcess server_;
};

// One client that repeats what it was not answered, as clients do.
class Stubborn {
 public:
  explicit Stubborn(Mortal& server) : server_(server) {}

  // Until there is an answer that is no server's trouble.
  RawAnswer call(const std::string& method, const std::string& target, const std::string& body,
                 const std::string& headers = "") {
    for (;;) {
      if (!peer_ || !peer_->connected()) peer_.emplace(server_.port());
      auto answer = peer_->connected() ? peer_->call(method, target, body, headers) : std::nullopt;
      if (answer && answer->status < 500) return *answer;
      peer_.reset();
      std::this_thread::yield();
    }
  }

 private:
  Mortal& server_;
  std::optional<RawHttp> peer_;
};

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

// One of everything, each under an id of its own. False if an answer was not as it should be.
bool do_job(Stubborn& client, const std::string& name) {
  const std::string id = quoted(name);
  const RawAnswer appended = client.call(
      "POST", "/v1/logs/log", R"({"batch":)" + id + R"(,"events":[{"data":)" + id + "}]}");
  const RawAnswer tallied =
      client.call("POST", "/v1/tallies/sum", R"({"kind":"sum","add":1,"id":)" + id + "}");
  const RawAnswer patched =
      client.call("PATCH", "/v1/docs/list", R"([{"op":"add","path":"/-","value":)" + id + "}]",
                  "Content-Type: application/json-patch+json\r\nIdempotency-Key: " + name + "\r\n");
  const RawAnswer seen = client.call(
      "POST", "/v1/seen", R"({"ids":[)" + quoted("s" + name) + R"(],"request":)" + id + "}");
  const RawAnswer claimed =
      client.call("POST", "/v1/claims/" + name, R"({"request":)" + id + R"(,"lease":"1h"})");
  if (claimed.status == 201) {
    const std::size_t from = claimed.body.find("\"ticket\":") + 10;
    const std::string ticket = claimed.body.substr(from, claimed.body.find('"', from) - from);
    const RawAnswer completed =
        client.call("POST", "/v1/claims/" + name + "/complete",
                    R"({"ticket":)" + quoted(ticket) + R"(,"result":)" + id + "}");
    if (completed.status != 200) return false;
  }
  return appended.status <= 201 && tallied.status == 200 && patched.status == 200 &&
         seen.body == R"({"first":[true]})" && claimed.status <= 201;
}

// How often each job's name stands in a text, in quotes.
std::map<std::string, int> names_in(const std::string& text) {
  std::map<std::string, int> names;
  for (std::size_t at = text.find("\"j"); at != std::string::npos; at = text.find("\"j", at)) {
    const std::size_t end = text.find('"', at + 1);
    ++names[text.substr(at + 1, end - at - 1)];
    at = end;
  }
  return names;
}

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
    EXPECT_EQ(judge.call("POST", "/v1/seen", R"({"ids":["s)" + name + R"("]})").body,
              R"({"first":[false]})");
  }
}

}  // namespace
}  // namespace once::testing
