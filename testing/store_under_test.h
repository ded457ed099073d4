// What the tests of the primitives run on: memory, or the store that ONCE_TEST_STORE names. The
// same programs, so that every store has to do the same.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

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

// Items that are there and have not expired.
inline std::size_t items_in(Store& store) {
  std::size_t count = 0;
  ListRequest request{.limit = 1'000};
  do {
    const ListPage page = store.list(request).value();
    count += page.items.size();
    request.cursor = page.cursor;
  } while (!request.cursor.empty());
  return count;
}

}  // namespace once::testing

// In a test or SetUp: skips what needs more writes in a commit than the store takes.
#define ONCE_NEEDS_WRITES(store, count)                                                  \
  if ((store).limits().writes_per_commit < (count)) {                                    \
    GTEST_SKIP() << "writes in a commit: at most " << (store).limits().writes_per_commit \
                 << " here";                                                             \
  }                                                                                      \
  static_assert(true)
