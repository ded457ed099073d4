// What the tests of the primitives run on: memory, or the store that ONCE_TEST_STORE names. The
// same programs, so that every store has to do the same.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "once/blocking_driver.h"
#include "once/faulty_store.h"
#include "once/metered_store.h"
#include "primitives/keys.h"
#include "primitives/store_secret.h"
#include "testing/manual_clock.h"
#include "testing/stores/chosen_store.h"

namespace once::testing {

// A new and empty one, whose time is the clock's. `clock` must outlive it.
inline std::unique_ptr<Store> store_under_test(Clock& clock) {
  return chosen_harness({"memory"}).open(clock);
}

// So many of something: what memory does in no time takes a server a request each.
inline std::size_t as_many_as(std::size_t in_memory, std::size_t on_a_server) {
  return chosen_harness({"memory"}).has_server() ? on_a_server : in_memory;
}

// Items that are there and have not expired, without those of the store itself.
inline std::size_t items_in(Store& store) {
  std::size_t count = 0;
  ListRequest request{.limit = 1'000};
  do {
    const ListPage page = store.list(request).value();
    for (const ListPage::Listed& listed : page.items)
      count += keys::is_of_store(listed.key) ? 0 : 1;
    request.cursor = page.cursor;
  } while (!request.cursor.empty());
  return count;
}

// Such a store behind a meter and a fault injector, with a clock that tests move.
class FaultyStoreTest : public ::testing::Test {
 protected:
  // Store calls of any kind since the last time.
  std::uint64_t calls() {
    const StoreMetrics now = metered_->snapshot();
    const std::uint64_t total =
        now.get.calls + now.scan.calls + now.list.calls + now.commit.calls + now.commit_each.calls;
    return total - std::exchange(calls_, total);
  }

  // The stores have their secret, and this process has read it: then no call of a test does.
  void know_secret() {
    const StoreSecret* const secret =
        BlockingDriver(*memory_, clock_, entropy_).run(read_store_secret()).value();
    metered_->secret().set(*secret);
    faulty_->secret().set(*secret);
  }

  // The next calls meet these.
  void meet(std::initializer_list<Fault> faults) { faulty_->script(std::vector<Fault>(faults)); }

  ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<Store> memory_ = store_under_test(clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*memory_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*metered_, {}, clock_);

 private:
  std::uint64_t calls_ = 0;
};

// The outcome as the kind that the test expects.
template <class T, class V>
T as(const Result<V>& outcome) {
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<T>(*outcome));
  return std::get<T>(*outcome);
}

}  // namespace once::testing

// In a test or SetUp: skips what needs more writes in a commit than the store takes.
#define ONCE_NEEDS_WRITES(store, count)                                                  \
  if ((store).limits().writes_per_commit < (count)) {                                    \
    GTEST_SKIP() << "writes in a commit: at most " << (store).limits().writes_per_commit \
                 << " here";                                                             \
  }                                                                                      \
  static_assert(true)
