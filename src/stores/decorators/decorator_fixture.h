// A memory store under the decorators, for their tests.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "once/entropy.h"
#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/manual_clock.h"

namespace once::testing {

class Decorated : public ::testing::Test {
 protected:
  static Key key(std::string home) { return {{std::move(home), ""}, 0}; }

  Write fresh(Write write) {
    write.version = entropy_.version();
    return write;
  }

  // The item in the memory store itself, below all decorators.
  std::optional<Item> current(const Key& key) { return *memory_->get(key); }
  std::int64_t number(const Key& key) {
    const std::optional<Item> item = current(key);
    return item ? std::get<std::int64_t>(item->value) : 0;
  }
  Item others_put(const Key& key, Value value, Guard guard = anything()) {
    const Write write = fresh(put(key, std::move(value), guard));
    EXPECT_TRUE(committed(*memory_->commit({&write, 1})));
    return {write.value, write.version, write.expiry};
  }

  static bool is_committed(const Result<CommitOutcome>& answer) {
    return answer && committed(*answer);
  }
  static bool is_lost(const Result<CommitOutcome>& answer) { return answer && !committed(*answer); }
  template <class T>
  static std::optional<ErrorCode> error_of(const Result<T>& answer) {
    return answer ? std::nullopt : std::optional(answer.error().code);
  }

  ManualClock clock_;
  Entropy entropy_{42};
  std::unique_ptr<Store> memory_ = open_memory({}, clock_);
};

inline Result<CommitOutcome> commit(Store& store, const Write& write) {
  return store.commit({&write, 1});
}

}  // namespace once::testing
