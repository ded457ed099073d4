// What the tests of this store share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "once/memory_store.h"
#include "testing/manual_clock.h"

namespace once::memory {

class StoreFixture {
 public:
  explicit StoreFixture(std::size_t max_bytes = 0)
      : store_(open_memory({.max_bytes = max_bytes}, clock_)) {}

  MemoryStore& store() { return *store_; }
  testing::ManualClock& clock() { return clock_; }
  Time in(Duration length) { return clock_.now() + length; }

  // Gives versions, as drivers do.
  Result<CommitOutcome> commit(std::vector<Write> writes) {
    for (Write& write : writes) {
      if (!write.version) write.version = {++last_version_};
    }
    return store_->commit(writes);
  }
  bool commits(std::vector<Write> writes) {
    const auto outcome = commit(std::move(writes));
    return outcome && committed(*outcome);
  }
  bool put(const Key& key, Value value, Time expiry = kNever) {
    return commits({once::put(key, std::move(value), anything(), expiry)});
  }

  std::optional<Value> value(const Key& key) {
    auto item = store_->get(key);
    EXPECT_TRUE(item.has_value());
    if (!item || !*item) return std::nullopt;
    return (*item)->value;
  }
  bool has(const Key& key) { return value(key).has_value(); }

 private:
  testing::ManualClock clock_;
  std::unique_ptr<MemoryStore> store_;
  std::uint64_t last_version_ = 0;
};

inline Key key(std::string home, std::int64_t sort = 0) { return {{std::move(home), ""}, sort}; }
inline Key numbered(int number) { return key("key-" + std::to_string(number)); }
inline Value text(std::string bytes) { return Value(std::in_place_type<Bytes>, std::move(bytes)); }

}  // namespace once::memory
