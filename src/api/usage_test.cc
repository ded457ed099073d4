#include "api/usage.h"

#include <gtest/gtest.h>

#include <thread>

#include "once/memory_store.h"
#include "primitives/keys.h"
#include "testing/manual_clock.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

// A server with quotas, on a store that others may write to as well.
class UsageTest : public ::testing::Test {
 protected:
  Version version() { return {++last_version_}; }

  static Key key(const std::string& name, const std::string& name_space = "a") {
    return keys::document(name_space, name);
  }
  Version put_in(Store& store, const Key& key, std::size_t bytes, Guard guard,
                 Time expiry = kNever) {
    Write write = put(key, Bytes(bytes, 'x'), guard, expiry);
    write.version = version();
    EXPECT_TRUE(committed(store.commit({&write, 1}).value()));
    return write.version;
  }
  void remove(const Key& key, Version since) {
    const Write write = erase(key, unchanged(since));
    EXPECT_TRUE(committed(store_.commit({&write, 1}).value()));
  }
  static std::uint64_t size(const Key& key, std::size_t bytes) {
    return Usage::bytes_of(key, Bytes(bytes, 'x'));
  }

  void await_round(std::uint64_t round) {
    while (count_->rounds() < round) {
      if (clock_.is_waited_on()) clock_.advance(50ms);
      std::this_thread::yield();
    }
  }
  void count(Duration every = 5min) {
    count_.emplace(*memory_, usage_, tenants_.counted(), clock_, every);
    await_round(1);
  }

  testing::ManualClock clock_;
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  metrics::Registry registry_;
  Tenants tenants_{{{"a", {.keys = 1'000, .bytes = 1'000'000}}, {"free", {}}}, registry_};
  Tenant& tenant_ = *tenants_.find("a");
  Usage usage_{tenants_.counted()};
  UsageStore store_{*memory_, usage_};
  std::optional<UsageCount> count_;
  std::uint64_t last_version_ = 0;
};

TEST_F(UsageTest, IsWhatWasFoundAndWhatWasWrittenSince) {
  for (int i = 0; i < 2'500; ++i) put_in(*memory_, key(std::to_string(i)), 10, absent());
  put_in(*memory_, key("b", "other"), 500, absent());
  count();
  EXPECT_EQ(tenant_.keys, 2'500U);
  const std::uint64_t before = tenant_.bytes;
  put_in(store_, key("new"), 100, absent());
  put_in(store_, key("new", "other"), 100, absent());
  EXPECT_EQ(tenant_.keys, 2'501U);
  EXPECT_EQ(tenant_.bytes, before + size(key("new"), 100));
}

TEST_F(UsageTest, AnItemThatIsReplacedManyTimesIsCountedOnce) {
  count();
  Version last = put_in(store_, key("d"), 1'000, absent());
  for (int i = 0; i < 100; ++i) last = put_in(store_, key("d"), 1'000, unchanged(last));
  EXPECT_EQ(tenant_.keys, 1U);
  EXPECT_EQ(tenant_.bytes, size(key("d"), 1'000));
  last = put_in(store_, key("d"), 10, unchanged(last));
  EXPECT_EQ(tenant_.bytes, size(key("d"), 10));
  remove(key("d"), last);
  EXPECT_EQ(tenant_.keys, 0U);
  EXPECT_EQ(tenant_.bytes, 0U);
}

TEST_F(UsageTest, WhatAnotherServerWroteAndWhatExpiredIsKnownAtTheNextCount) {
  count();
  put_in(*memory_, key("of another"), 100, absent());
  put_in(store_, key("short-lived"), 100, absent(), clock_.now() + 60s);
  EXPECT_EQ(tenant_.keys, 1U);
  clock_.advance(5min);
  await_round(2);
  EXPECT_EQ(tenant_.keys, 1U);
  EXPECT_EQ(tenant_.bytes, size(key("of another"), 100));
}

TEST_F(UsageTest, WhoIsRefusedIsCountedAgainSoon) {
  count();
  for (int i = 0; i < 1'000; ++i) put_in(store_, key(std::to_string(i)), 1, absent());
  for (int i = 0; i < 500; ++i) {
    const Write write = erase(key(std::to_string(i)), anything());
    EXPECT_TRUE(committed(memory_->commit({&write, 1}).value())) << "by another server";
  }
  ASSERT_TRUE(refusal_by_quota(tenant_, true, 0, 0s).has_value());
  const Time refused = clock_.now();
  await_round(2);
  EXPECT_LT(clock_.now() - refused, 4min) << "long before it would have been otherwise";
  EXPECT_EQ(tenant_.keys, 500U);
  EXPECT_FALSE(refusal_by_quota(tenant_, true, 0, 0s));
}

TEST_F(UsageTest, WhoGetsAQuotaLaterIsCountedFromThenOnAndWhoLosesItNoMore) {
  put_in(*memory_, key("k", "late"), 100, absent());
  count();
  const std::shared_ptr<Tenant> late = tenants_.find("late");
  put_in(store_, key("k2", "late"), 100, absent());
  EXPECT_EQ(late->keys, 0U) << "nobody asked";
  tenants_.set_quotas({{"late", {.keys = 3}}});
  usage_.set_tenants(tenants_.counted());
  count_->set_tenants(tenants_.counted());
  await_round(2);
  EXPECT_EQ(late->keys, 2U);
  EXPECT_FALSE(refusal_by_quota(*late, true, 0, 0s));
  put_in(store_, key("k3", "late"), 100, absent());
  EXPECT_EQ(late->keys, 3U);
  EXPECT_TRUE(refusal_by_quota(*late, true, 0, 0s).has_value());
  EXPECT_FALSE(tenant_.is_counted);
  EXPECT_FALSE(refusal_by_quota(tenant_, true, 0, 0s));
}

}  // namespace
}  // namespace once::api
