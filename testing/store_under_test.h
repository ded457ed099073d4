// What the tests of the primitives run on: memory, or a real server if ONCE_TEST_STORE names one
// (dynamodb). The same programs, so that every store has to do the same.
#pragma once

#include <cstddef>
#include <memory>

#include "once/store.h"

namespace once::testing {

// A new and empty one, whose time is the clock's. `clock` must outlive it.
std::unique_ptr<Store> store_under_test(Clock& clock);

// Items that are there and have not expired.
std::size_t items_in(Store& store);

}  // namespace once::testing
