#include <gtest/gtest.h>

#include "once/memory_store.h"
#include "testing/model/check_model.h"

namespace once::testing {
namespace {

TEST(StoreModel, MemoryDoesWhatAPlainMapDoes) {
  ManualClock clock;
  check_model(2'000, clock, [&] { return open_memory({}, clock); });
}

TEST(StoreModel, BoundedMemoryWithRoomDoesWhatAPlainMapDoes) {
  ManualClock clock;
  check_model(2'000, clock, [&] { return open_memory({.max_bytes = 64U << 20}, clock); });
}

}  // namespace
}  // namespace once::testing
