// Three masters: a home is in one slot, slots move, commits stay whole.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "once/claims.h"
#include "once/local.h"
#include "once/log.h"
#include "primitives/keys.h"
#include "stores/redis/cluster_fixture.h"
#include "testing/code_of.h"
#include "testing/started_plan.h"

namespace once::testing {
namespace {

class RedisClusterTest : public RedisClusterFixture {};

TEST_F(RedisClusterTest, ACommitAcrossHomesIsUnsupportedBeforeAnythingIsWritten) {
  EXPECT_TRUE(store_->limits().one_home_per_commit);
  const std::vector<Write> writes = {fresh(put(key_at("a"), Bytes("v"), absent())),
                                     fresh(put(key_at("b"), Bytes("v"), absent()))};
  EXPECT_EQ(code_of(store_->commit(writes)), ErrorCode::unsupported);
  EXPECT_EQ(store_->get(key_at("a")).value(), std::nullopt);
}

TEST_F(RedisClusterTest, AHomeIsWrittenWholeWhateverItsPartsAndSorts) {
  for (const std::string& home : homes()) {
    const std::vector<Write> writes = {fresh(put(key_at(home), Bytes("v"), absent())),
                                       fresh(put(key_at(home, 1), Bytes("v"), absent())),
                                       fresh(add(key_at(home, 0, "{x}"), 1))};
    EXPECT_TRUE(wins(store_->commit(writes)));
  }
}

TEST_F(RedisClusterTest, GroupsReadingsAndListsReachEveryServer) {
  std::vector<Write> writes;
  std::vector<Key> keys;
  for (int i = 0; i < 200; ++i) {
    writes.push_back(fresh(put(key_at("home" + std::to_string(i), i % 2), Bytes("v"), absent())));
    keys.push_back(writes.back().key);
  }
  std::vector<Transaction> group;
  for (const Write& write : writes) group.emplace_back(&write, 1);
  for (const auto& answer : store_->commit_each(group)) EXPECT_TRUE(wins(answer));
  for (const auto& server : cluster().servers()) EXPECT_NE(server->cli("dbsize"), "0");
  const auto items = store_->get(keys).value();
  for (const auto& item : items) EXPECT_TRUE(item.has_value());
  std::map<Key, Item> found;
  ListRequest request{.limit = 7};
  do {
    const ListPage page = store_->list(request).value();
    for (const auto& listed : page.items) found[listed.key] = listed.item;
    request.cursor = page.cursor;
  } while (!request.cursor.empty());
  EXPECT_EQ(found.size(), writes.size());
}

TEST_F(RedisClusterTest, AListingAsksForTheSlotsAtItsBeginningAndAtItsEnd) {
  const std::uint64_t before = store_->counts().requests;
  EXPECT_TRUE(store_->list({}).value().items.empty());
  // CLUSTER SLOTS, CLUSTER NODES of each, SCAN of each, and the first two again.
  EXPECT_EQ(store_->counts().requests - before, (1U + 3U) + 3U + (1U + 3U));
}

TEST_F(RedisClusterTest, ASlotThatHasMovedIsFollowed) {
  const std::string home = homes()[0];
  const Write before = fresh(put(key_at(home), Bytes("v"), absent()));
  ASSERT_TRUE(wins(commit_one(*store_, before)));
  cluster().move(redis::slot_of(home), 1);
  EXPECT_EQ(store_->get(key_at(home)).value()->version, before.version);
  EXPECT_TRUE(
      wins(commit_one(*store_, fresh(put(key_at(home), Bytes("w"), unchanged(before.version))))));
  EXPECT_EQ(store_->list({.home_prefix = home}).value().items.size(), 1U);
  cluster().move(redis::slot_of(home), 0);
}

// ASK for what has moved; what is in both places at once waits (TRYAGAIN).
TEST_F(RedisClusterTest, ASlotThatIsMovingIsUsableAndNothingInItIsDoneTwice) {
  const std::string home = homes()[0];
  std::vector<Key> keys;
  for (int i = 0; i < 20; ++i) keys.push_back(key_at(home, 0, std::to_string(i)));
  for (const Key& key : keys) ASSERT_TRUE(wins(commit_one(*store_, fresh(add(key, 1)))));
  const auto hasty =
      open_redis({.port = cluster().port(), .timeout = std::chrono::seconds(1)}).value();
  cluster().move(redis::slot_of(home), 2, [&] {
    for (const Key& key : keys) EXPECT_TRUE(wins(commit_one(*store_, fresh(add(key, 1)))));
    const auto items = store_->get(keys).value();
    for (const auto& item : items) {
      EXPECT_EQ(item->value, Value(std::int64_t{2}));
    }
    EXPECT_TRUE(
        wins(commit_one(*store_, fresh(put(key_at(home, 0, "new"), Bytes("v"), absent())))));
    std::vector<Write> all;
    for (const Key& key : keys) all.push_back(fresh(add(key, 1)));
    EXPECT_EQ(code_of(hasty->commit(all)), ErrorCode::unavailable);
  });
  for (const Key& key : keys) {
    EXPECT_EQ(store_->get(key).value()->value, Value(std::int64_t{2}));
    EXPECT_TRUE(wins(commit_one(*store_, fresh(add(key, 1)))));
  }
  cluster().move(redis::slot_of(home), 0);
}

// The user of docs/stores.md.
TEST_F(RedisClusterTest, AUserThatMayNotFollowAMovingSlotIsDeniedAtTheStart) {
  const auto allow = [](const std::string& rules) {
    for (const auto& server : cluster().servers()) {
      EXPECT_EQ(server->cli("acl setuser app " + rules), "OK");
    }
  };
  allow(
      "reset on '>pw' '~once:*' +get +set +del +zadd +zrem +zrange +zrangebylex +zrevrangebylex "
      "+pexpiretime +pexpireat +persist +time +scan +script +eval +evalsha +info '+cluster|slots'");
  const RedisOptions options{.port = cluster().port(), .user = "app", .password = "pw"};
  const auto refused = open_redis(options);
  EXPECT_EQ(code_of(refused), ErrorCode::denied);
  EXPECT_EQ(refused.error().message, "redis: this user may not use ASKING");
  allow("+asking");
  EXPECT_EQ(open_redis(options).error().message, "redis: this user may not use CLUSTER NODES");
  allow("'+cluster|nodes'");
  const auto store = open_redis(options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const std::string home = homes()[0];
  ASSERT_TRUE(wins(commit_one(**store, fresh(put(key_at(home), Bytes("v"), absent())))));
  cluster().move(redis::slot_of(home), 1,
                 [&] { EXPECT_TRUE((*store)->get(key_at(home)).value().has_value()); });
  cluster().move(redis::slot_of(home), 0);
}

TEST_F(RedisClusterTest, ReshardingUnderLoadLosesNothingAndLeavesNoGap) {
  const std::vector<std::string> streams = {"s0", "s1", "s2"};
  std::atomic<bool> stop = false;
  std::atomic<int> steps = 0;
  std::atomic<int> budget = 0;  // Of each client, so that there is not ever more to move.
  std::vector<std::vector<std::string>> told(streams.size());
  {
    std::vector<std::jthread> clients;
    for (std::size_t client = 0; client < streams.size(); ++client) {
      clients.emplace_back([&, client] {
        const auto store = open();
        LocalLog log(*store);
        LocalClaims claims(*store);
        for (int i = 0; !stop; ++i, ++steps) {
          for (int most = budget; i >= most && !stop; most = budget) budget.wait(most);
          if (stop) break;
          const std::string name = streams[client] + "-" + std::to_string(i);
          // Keys of their own for some, so that a slot has several, but is soon moved.
          const std::string batch = i % 16 == 0 ? name : "";
          const auto appended =
              log.append(streams[client], {{name, std::nullopt}}, {.batch = batch});
          ASSERT_TRUE(appended.has_value()) << appended.error().message;
          told[client].push_back(name);
          const auto taken = claims.take(name, {});
          ASSERT_TRUE(taken.has_value()) << taken.error().message;
          ASSERT_TRUE(std::holds_alternative<Claimed>(*taken));
        }
      });
    }
    for (int round = 0; round < 2; ++round) {
      for (const std::string& stream : streams) {
        const int slot = redis::slot_of(keys::log_home("default", stream));
        budget += 100;
        budget.notify_all();
        cluster().move(slot, (cluster().owner_of(slot) + 1) % 3);
        const int until = steps + 10;  // Within what the clients may do from here on.
        budget += 20;
        budget.notify_all();
        while (steps < until && !HasFailure()) std::this_thread::yield();
      }
    }
    stop = true;
    ++budget;
    budget.notify_all();
  }
  LocalLog log(*store_);
  for (std::size_t client = 0; client < streams.size(); ++client) {
    std::int64_t next = 1;
    while (std::cmp_less_equal(next, told[client].size())) {
      const LogPage page = log.read(streams[client], {.from = next, .limit = 10'000}).value();
      ASSERT_FALSE(page.events.empty());
      for (const LogEntry& event : page.events) {
        ASSERT_EQ(event.index, next++);
        ASSERT_EQ(event.data, told[client].at(static_cast<std::size_t>(event.index) - 1));
      }
    }
  }
}

// A claim whose key is on that server.
std::string claim_on(const RedisCluster& cluster, std::size_t server, const std::string& prefix) {
  for (int i = 0;; ++i) {
    std::string name = prefix + std::to_string(i);
    const Key key = claims::claim_key("", name);
    if (cluster.owner_of(redis::slot_of(key.partition.home)) == server) return name;
  }
}

Plan<bool> exists(Key key) {
  const std::optional<Item> item = co_await get(key);
  co_return item.has_value();
}

TEST_F(RedisClusterTest, H37_AMasterThatHangsHoldsUpNeitherAnotherNorARenewal) {
  // Its calls end before the cluster notices that a server is gone, which takes it 15 s.
  store_ = open_redis({.port = cluster().port(), .timeout = std::chrono::seconds(5)}).value();
  BatchingDriver driver(*store_);
  const auto take = [&](const std::string& name) {
    return driver.run(claims::take(claims::claim_key("", name), {.owner = "test"}));
  };
  const std::string job = claim_on(cluster(), 1, "job");
  const std::string other = claim_on(cluster(), 2, "other");
  const Key slow = claims::claim_key("", claim_on(cluster(), 0, "slow"));
  const auto claimed = std::get<Claimed>(take(job).value());
  std::vector<StartedPlan<bool>> reads;
  const Stopped stopped(cluster().server(0));
  for (int i = 0; i < 8; ++i) reads.emplace_back(driver, exists(slow));
  EXPECT_TRUE(std::holds_alternative<Claimed>(take(other).value()));
  // Also after the first attempts on the silent server have failed.
  int renewals = 0;
  while (!reads[0].answered()) {
    const auto renewed = driver.run(
        claims::renew(claims::claim_key("", job), claimed.ticket, std::chrono::seconds(30)));
    ASSERT_TRUE(std::holds_alternative<Renewed>(renewed.value()));
    ++renewals;
  }
  EXPECT_GT(renewals, 20);
}

}  // namespace
}  // namespace once::testing
