// A disk of PostgreSQL that is full: nothing acknowledged is lost, and it goes on when there is
// room.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "once/open.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/postgres.h"
#include "testing/small_disk.h"

namespace once::testing {
namespace {

constexpr std::size_t kMiB = 1U << 20;

// One that does not become smaller when it is compressed.
std::string incompressible(int number) {
  constexpr std::size_t kBytes = 200'000;
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  std::string out;
  while (out.size() < kBytes) {
    const std::uint64_t word = random();
    out.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return out;
}

class FullDiskOfPostgres : public ::testing::Test {
 protected:
  static RawAnswer put(const ServerProcess& server, int number) {
    RawHttp peer(server.port());
    return peer
        .call("PUT", "/v1/docs/d" + std::to_string(number), incompressible(number),
              "If-None-Match: *\r\n")
        .value_or(RawAnswer{});
  }
  static RawAnswer get(const ServerProcess& server, const std::string& target) {
    RawHttp peer(server.port());
    return peer.call("GET", target).value_or(RawAnswer{});
  }

  // Puts documents until one is refused, which is the answer.
  RawAnswer put_until_refused(const ServerProcess& server) {
    constexpr int kMost = 300;
    while (next_ < kMost) {
      const int number = next_++;
      RawAnswer answer = put(server, number);
      if (answer.status != 201) return answer;
      acknowledged_.insert(number);
    }
    return {};
  }

  void expect_all_acknowledged(const ServerProcess& server) {
    for (const int number : acknowledged_) {
      const RawAnswer answer = get(server, "/v1/docs/d" + std::to_string(number));
      EXPECT_EQ(answer.status, 200) << number;
      EXPECT_TRUE(answer.body == incompressible(number)) << number;
    }
  }

  int next_ = 0;
  std::set<int> acknowledged_;
};

#define ONCE_DISK_OR_SKIP(disk)                                                \
  if (!(disk).mounted()) {                                                     \
    if (std::getenv("CI") != nullptr) FAIL() << "this user may mount nothing"; \
    GTEST_SKIP() << "this user may mount nothing";                             \
  }

TEST_F(FullDiskOfPostgres, WritesAreRefusedTheServerIsNotReadyAndGoesOnWhenThereIsRoom) {
  ONCE_NEEDS_SERVER(PostgresServer);
  SmallDisk disk(32);
  ONCE_DISK_OR_SKIP(disk);
  const PostgresServer postgres;
  ASSERT_TRUE(create_table(postgres.address()).has_value());
  const std::string space = disk.path() / "space";
  postgres.psql("copy (select) to program 'mkdir " + space + "'");  // It must be its user's.
  EXPECT_EQ(postgres.psql("create tablespace small location '" + space + "'"), "");
  EXPECT_EQ(postgres.psql("alter table once.items set tablespace small"), "");
  const ServerProcess server(postgres.address() + "&timeout=5");
  ASSERT_TRUE(server.running()) << server.ready_line();
  EXPECT_EQ(get(server, "/readyz").status, 200);
  ASSERT_TRUE(disk.fill(2 * kMiB));
  const RawAnswer refused = put_until_refused(server);
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_NE(refused.body.find("No space left"), std::string::npos) << refused.body;
  const RawAnswer ready = get(server, "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("No space left"), std::string::npos) << ready.body;
  EXPECT_EQ(get(server, "/healthz").status, 200);
  EXPECT_EQ(get(server, "/v1/docs/d" + std::to_string(next_ - 1)).status, 404);
  expect_all_acknowledged(server);
  disk.free();
  const int freed = next_++;
  EXPECT_EQ(put(server, freed).status, 201);
  acknowledged_.insert(freed);
  EXPECT_EQ(get(server, "/readyz").status, 200);
  expect_all_acknowledged(server);
}

// PostgreSQL ends all connections when it cannot write its log, and may not come back by itself.
TEST_F(FullDiskOfPostgres, ALogThatIsFullLeavesNothingHalfDoneAndLosesNothing) {
  ONCE_NEEDS_SERVER(PostgresServer);
  SmallDisk disk(32);
  ONCE_DISK_OR_SKIP(disk);
  PostgresServer postgres(PostgresParts{.settings = {"max_wal_size=1GB", "wal_recycle=off"},
                                        .wal = disk.path() / "wal"});
  ASSERT_TRUE(create_table(postgres.address()).has_value());
  const ServerProcess server(postgres.address() + "&timeout=5", {"--request-timeout", "5s"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  ASSERT_TRUE(disk.fill(3 * kMiB));
  const RawAnswer refused = put_until_refused(server);
  EXPECT_TRUE(refused.status == 503 || refused.status == 504) << refused.status << refused.body;
  EXPECT_FALSE(acknowledged_.empty());
  EXPECT_EQ(get(server, "/healthz").status, 200);
  const int doubtful = next_ - 1;
  disk.free();
  postgres.kill();
  postgres.start();
  while (get(server, "/readyz").status != 200) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  expect_all_acknowledged(server);
  const RawAnswer left = get(server, "/v1/docs/d" + std::to_string(doubtful));
  EXPECT_TRUE(left.status == 404 || left.body == incompressible(doubtful)) << left.status;
  EXPECT_EQ(put(server, next_++).status, 201);
}

}  // namespace
}  // namespace once::testing
