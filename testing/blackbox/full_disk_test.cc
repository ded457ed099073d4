// A disk that is full: nothing acknowledged is lost, nothing hangs, and it goes on afterwards.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>
#include <set>

#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/small_disk.h"

namespace once::testing {
namespace {

constexpr std::size_t kMiB = 1U << 20;
constexpr std::size_t kKeptFree = 64 * kMiB;  // By the store.

// One that does not become smaller when it is compressed.
std::string document_of(int number, std::size_t bytes) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  std::string out;
  while (out.size() < bytes) {
    const std::uint64_t word = random();
    out.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return out;
}

class FullDisk : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = kMiB;

  static RawAnswer put(RawHttp& peer, int number) {
    return peer
        .call("PUT", "/v1/docs/d" + std::to_string(number), document_of(number, kBytes),
              "If-None-Match: *\r\n")
        .value_or(RawAnswer{});
  }

  // Puts documents from `next_` on until one is refused, which is the answer.
  RawAnswer put_until_refused(RawHttp& peer, int most) {
    for (int i = 0; i < most; ++i) {
      const int number = next_++;
      RawAnswer answer = put(peer, number);
      if (answer.status != 201) return answer;
      acknowledged_.insert(number);
    }
    return {};
  }

  void expect_all_acknowledged(RawHttp& peer) {
    for (const int number : acknowledged_) {
      const auto answer = peer.call("GET", "/v1/docs/d" + std::to_string(number));
      ASSERT_TRUE(answer.has_value());
      EXPECT_EQ(answer->status, 200) << number;
      EXPECT_TRUE(answer->body == document_of(number, kBytes)) << number;
    }
  }

  static void expect_problem(const RawAnswer& answer, int status, std::string_view code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.header("Content-Type"), "application/problem+json");
    EXPECT_NE(answer.body.find("\"code\":\"" + std::string(code) + "\""), std::string::npos)
        << answer.body;
    EXPECT_EQ(answer.header("Retry-After") != "", status == 503);
  }

  int next_ = 0;
  std::set<int> acknowledged_;
};

#define ONCE_MOUNTED_OR_SKIP(disk)                                             \
  if (!(disk).mounted()) {                                                     \
    if (std::getenv("CI") != nullptr) FAIL() << "this user may mount nothing"; \
    GTEST_SKIP() << "this user may mount nothing";                             \
  }

TEST_F(FullDisk, H41_AServerIsNotReadyWhileItsDiskRefusesEveryWrite) {
  SmallDisk disk(256);
  ONCE_MOUNTED_OR_SKIP(disk);
  ServerProcess server(disk.path() / "store");
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  EXPECT_EQ(peer.call("GET", "/readyz")->status, 200);
  ASSERT_TRUE(disk.fill(kKeptFree / 2));
  EXPECT_EQ(put_until_refused(peer, 50).status, 503);
  const auto answer = peer.call("GET", "/readyz");
  EXPECT_EQ(answer->status, 503);
  EXPECT_NE(answer->body.find("MiB free"), std::string::npos) << answer->body;
  EXPECT_EQ(peer.call("GET", "/healthz")->status, 200);
  disk.free();
  EXPECT_EQ(put_until_refused(peer, 1).status, 0);
  EXPECT_EQ(peer.call("GET", "/readyz")->status, 200);
}

TEST_F(FullDisk, WritesAreRefusedBeforehandAndGoOnByThemselvesWhenThereIsRoom) {
  SmallDisk disk(256);
  ONCE_MOUNTED_OR_SKIP(disk);
  ServerProcess server(disk.path() / "store");
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  EXPECT_EQ(put_until_refused(peer, 5).status, 0);
  ASSERT_TRUE(disk.fill(kKeptFree / 2));
  const RawAnswer refused = put_until_refused(peer, 50);
  expect_problem(refused, 503, "unavailable");
  EXPECT_NE(refused.body.find("MiB free"), std::string::npos) << refused.body;
  for (const auto& [target, body] :
       {std::pair("/v1/claims/c", "{}"), std::pair("/v1/seen", R"({"ids":["i"]})"),
        std::pair("/v1/logs/s", R"({"events":[{"data":1}]})"),
        std::pair("/v1/tallies/t", R"({"kind":"count"})"),
        std::pair("/v1/commit", R"({"tallies":[{"key":"t","kind":"count"}]})")}) {
    expect_problem(*peer.call("POST", target, body), 503, "unavailable");
  }
  EXPECT_EQ(peer.call("GET", "/healthz")->status, 200);
  expect_all_acknowledged(peer);
  disk.free();
  EXPECT_EQ(put_until_refused(peer, 5).status, 0);
  const auto seen = peer.call("POST", "/v1/seen", R"({"ids":["i"]})");
  EXPECT_TRUE(seen->body.starts_with(R"({"first":[true])")) << seen->body;
  expect_all_acknowledged(peer);
  EXPECT_EQ(peer.call("GET", "/v1/tallies/t")->status, 404);
}

TEST_F(FullDisk, AServerThatFillsItByItselfLosesNothing) {
  SmallDisk disk(256);
  ONCE_MOUNTED_OR_SKIP(disk);
  ServerProcess server(disk.path() / "store");
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  const RawAnswer refused = put_until_refused(peer, 300);
  expect_problem(refused, 503, "unavailable");
  expect_all_acknowledged(peer);
  EXPECT_EQ(server.terminate(), 0);
  server.start();
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp again(server.port());
  expect_all_acknowledged(again);
}

// The limit stands for any failure in the middle of a write.
TEST_F(FullDisk, AWriteThatFailsHalfWayIsUnknownAndTheRestIsThereAfterARestart) {
  const TempDir dir;
  ServerProcess server(dir.path() / "store", {"--request-timeout", "5s"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  const rlimit small{8 * kMiB, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_FSIZE, &small, nullptr), 0);
  expect_problem(put_until_refused(peer, 300), 504, "unknown");
  const int unknown = next_ - 1;
  expect_problem(put_until_refused(peer, 1), 503, "unavailable");
  EXPECT_EQ(peer.call("GET", "/healthz")->status, 200);
  expect_all_acknowledged(peer);
  EXPECT_EQ(server.terminate(), 0);

  server.start();
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp again(server.port());
  expect_all_acknowledged(again);
  const auto left = again.call("GET", "/v1/docs/d" + std::to_string(unknown));
  EXPECT_TRUE(left->status == 404 || left->body == document_of(unknown, kBytes));
  EXPECT_EQ(put_until_refused(again, 5).status, 0);
}

}  // namespace
}  // namespace once::testing
