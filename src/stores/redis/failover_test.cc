// Servers of a cluster that hang, and slots that go elsewhere meanwhile.
#include <signal.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <thread>

#include "stores/redis/cluster_fixture.h"
#include "stores/redis/router.h"
#include "stores/redis/walk.h"

namespace once::testing {
namespace {

using std::chrono::milliseconds;

class RedisFailover : public RedisClusterFixture {
 protected:
  // In the order in which they are turned to.
  static std::vector<std::size_t> walked() {
    std::vector<std::size_t> order = {0, 1, 2};
    std::ranges::sort(order, {}, [](std::size_t i) { return cluster().server(i).port(); });
    return order;
  }

  // The slot is this server's from now on, by the word of all but the one that had it.
  static void take_over(int slot, std::size_t from, std::size_t to) {
    const std::string setslot = "cluster setslot " + std::to_string(slot);
    const std::string node = cluster().server(to).cli("cluster myid");
    std::size_t other = 0;
    while (other == from || other == to) ++other;
    std::string importing = setslot + " importing ";
    importing.append(id_seen_by(other, cluster().server(from).port()));
    EXPECT_EQ(cluster().server(to).cli(importing), "OK");
    std::string assign = setslot + " node ";
    assign.append(node);
    for (const std::size_t server : {to, other}) {
      EXPECT_EQ(cluster().server(server).cli(assign), "OK");
    }
  }

  // The first word of the line that has the port. Who is stopped cannot say its own.
  static std::string id_seen_by(std::size_t server, std::uint16_t port) {
    std::string mark = ":" + std::to_string(port);
    mark += '@';
    std::istringstream nodes(cluster().server(server).cli("cluster nodes"));
    for (std::string line; std::getline(nodes, line);) {
      if (line.find(mark) != std::string::npos) return line.substr(0, line.find(' '));
    }
    ADD_FAILURE() << "no node at " << port;
    return {};
  }
};

TEST_F(RedisFailover, WhatHasComeIsNotThrownAwayBecauseAnotherServerIsSlow) {
  const std::vector<std::string> homes = this->homes();
  const Bytes large(3'000'000, 'v');
  std::vector<redis::Command> commands;
  for (const std::string& home : homes) {
    ASSERT_TRUE(wins(commit_one(*store_, fresh(put(key_at(home), large, absent())))));
    commands.push_back({.bytes = redis::text_of({"GET", redis::string_name({home, ""})}),
                        .slot = redis::slot_of(home),
                        .reads = true});
  }
  const RedisOptions options{.port = cluster().port()};
  redis::ServerTime time(system_clock());
  redis::Router router(options, redis::make_dialler(options).value(), time);
  const auto within = [](milliseconds length) { return std::chrono::steady_clock::now() + length; };
  ASSERT_TRUE(router.open(within(milliseconds(10'000))).has_value());
  for (const auto& reply : router.run(commands, within(milliseconds(10'000)))) {
    ASSERT_TRUE(reply.has_value());
  }
  const std::vector<std::size_t> order = walked();
  for (const std::size_t slow : {order.front(), order.back()}) {
    const Stopped stopped(cluster().server(slow));
    // First by a connection that there is; then by one that is to be opened.
    for (int round = 0; round < 2; ++round) {
      const auto replies = router.run(commands, within(milliseconds(800)));
      for (std::size_t i = 0; i < replies.size(); ++i) {
        EXPECT_EQ(replies[i].has_value(), i != slow) << i << " while " << slow << " is slow";
        if (replies[i]) {
          EXPECT_GT((**replies[i]).text().size(), large.size());
        }
      }
    }
  }
}

TEST_F(RedisFailover, ASlotThatWentAwayFromAServerThatHangsIsFound) {
  const std::string home = homes()[0];
  const auto store =
      open_redis({.port = cluster().port(), .timeout = std::chrono::seconds(5)}).value();
  ASSERT_TRUE(wins(commit_one(*store, fresh(put(key_at(home), Bytes("v"), absent())))));
  {
    const Stopped stopped(cluster().server(0));
    take_over(redis::slot_of(home), 0, 1);
    // What it had is lost with it.
    const auto lost = store->get(key_at(home));
    ASSERT_TRUE(lost.has_value()) << lost.error().message;
    EXPECT_EQ(*lost, std::nullopt);
    EXPECT_TRUE(wins(commit_one(*store, fresh(put(key_at(home), Bytes("w"), absent())))));
  }
  while (cluster().owner_of(redis::slot_of(home)) != 1) std::this_thread::yield();
  cluster().move(redis::slot_of(home), 0);
}

TEST_F(RedisFailover, AWalkMeetsWhatMovesToWhereItHasBeen) {
  const std::vector<std::size_t> order = walked();
  for (int i = 0; i < 60; ++i) {
    const Key key = key_at("home" + std::to_string(i));
    ASSERT_TRUE(wins(commit_one(*store_, fresh(put(key, Bytes("v"), absent())))));
  }
  const std::string moves = homes()[order[2]];
  ListRequest request{.limit = 5};
  std::set<std::string> met;
  const auto go_on = [&] {
    const ListPage page = store_->list(request).value();
    for (const auto& listed : page.items) met.insert(listed.key.partition.home);
    request.cursor = page.cursor;
  };
  do {
    go_on();
    ASSERT_FALSE(request.cursor.empty());
  } while (redis::parse_cursor(request.cursor)->server == 0);
  ASSERT_FALSE(met.contains(moves));
  cluster().move(redis::slot_of(moves), order[0]);
  while (!request.cursor.empty()) go_on();
  EXPECT_TRUE(met.contains(moves));
  EXPECT_EQ(met.size(), 60U);
  cluster().move(redis::slot_of(moves), order[2]);
}

// A walk past a slot whose keys go, one by one, from where it has yet to come to where it has been.
class RedisHalfMoved : public RedisFailover, public ::testing::WithParamInterface<bool> {
 protected:
  void go_on() {
    const auto page = store_->list(request_);
    ASSERT_TRUE(page.has_value()) << page.error().message;
    for (const auto& listed : page->items) met_.insert(listed.key);
    request_.cursor = page->cursor;
  }

  ListRequest request_{.limit = 5};
  std::set<Key> met_;
};

TEST_P(RedisHalfMoved, AWalkMeetsEveryKeyOfASlotThatIsLeftHalfMoved) {
  const std::vector<std::size_t> order = walked();
  const std::string moves = homes()[order[2]];
  const int slot = redis::slot_of(moves);
  std::set<Key> there;
  for (int i = 0; i < 60; ++i) there.insert(key_at("home" + std::to_string(i)));
  // Strings and sets, and partitions that have both.
  for (int i = 0; i < 8; ++i) {
    if (i % 3 != 1) there.insert(key_at(moves, 0, std::to_string(i)));
    if (i % 3 != 2) there.insert(key_at(moves, 7, std::to_string(i)));
  }
  for (const Key& key : there) {
    ASSERT_TRUE(wins(commit_one(*store_, fresh(put(key, Bytes("v"), absent())))));
  }
  const bool begins_before_the_walk = GetParam();
  if (begins_before_the_walk) cluster().begin_move(slot, order[0]);
  do {
    go_on();
    ASSERT_FALSE(request_.cursor.empty());
  } while (redis::parse_cursor(request_.cursor)->server == 0);
  if (!begins_before_the_walk) cluster().begin_move(slot, order[0]);
  ASSERT_EQ(cluster().move_keys(slot, order[0], 6), 6U);
  while (!request_.cursor.empty()) go_on();
  EXPECT_EQ(met_, there);
  EXPECT_EQ(cluster().owner_of(slot), order[2]);
  cluster().end_move(slot, order[0]);
  cluster().move(slot, order[2]);
}

INSTANTIATE_TEST_SUITE_P(BeforeAndAmid, RedisHalfMoved, ::testing::Bool());

}  // namespace
}  // namespace once::testing
