// What the tests of the primitives run on: memory, or a real server if ONCE_TEST_STORE names one
// (dynamodb, redis, redis_cluster, s3). The same programs, so that every store has to do the same.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>

#include "once/store.h"

namespace once::testing {

// A new and empty one, whose time is the clock's. `clock` must outlive it.
std::unique_ptr<Store> store_under_test(Clock& clock);

// So many of something: what memory does in no time takes a server a request each.
std::size_t as_many_as(std::size_t in_memory, std::size_t on_a_server);

// Items that are there and have not expired.
std::size_t items_in(Store& store);

}  // namespace once::testing

// In a test or SetUp: skips what needs more writes in a commit than the store takes.
#define ONCE_NEEDS_WRITES(store, count)                                                  \
  if ((store).limits().writes_per_commit < (count)) {                                    \
    GTEST_SKIP() << "writes in a commit: at most " << (store).limits().writes_per_commit \
                 << " here";                                                             \
  }                                                                                      \
  static_assert(true)
