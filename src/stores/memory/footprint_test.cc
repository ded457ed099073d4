// What an item costs beyond its key and value, as the process's allocator counts it.
#include <gtest/gtest.h>
#include <malloc.h>

#include "stores/memory/store_fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ONCE_OTHER_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define ONCE_OTHER_ALLOCATOR 1
#endif
#endif

namespace once::memory {
namespace {

constexpr std::size_t kAllowed = 60;

// Enough items for what is allotted in advance not to count; what the store says needs few.
#if defined(ONCE_OTHER_ALLOCATOR)
constexpr std::size_t kMany = 10'000;
#else
constexpr std::size_t kMany = 200'000;
#endif

// Sanitizers bring an allocator that cannot be asked; then it is the store that says.
std::size_t bytes_in_use([[maybe_unused]] MemoryStore& store) {
#if defined(ONCE_OTHER_ALLOCATOR)
  return store.usage().bytes;
#else
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

struct Case {
  std::size_t items;
  std::size_t max_bytes;
  bool expires;
};

class Footprint : public ::testing::TestWithParam<Case> {};

TEST_P(Footprint, AClaimSizedItemCostsAtMostSixtyBytesMore) {
  const Case wanted = GetParam();
  StoreFixture f(wanted.max_bytes);
  const std::size_t before = bytes_in_use(f.store());
  std::size_t payload = 0;
  for (std::size_t i = 0; i < wanted.items; ++i) {
    const std::string name = "claim-" + std::to_string(i * 2'654'435'761 % 1'000'000'000'000);
    const Key at{{"tenant-17/" + name, ""}, 0};
    const std::size_t size = 100 + i % 51;
    payload += at.partition.home.size() + size;
    const Time expiry = wanted.expires ? f.in(std::chrono::hours(24)) : kNever;
    ASSERT_TRUE(f.put(at, text(std::string(size, 'v')), expiry));
  }
  const std::size_t taken = bytes_in_use(f.store()) - before;
  const double each = static_cast<double>(taken - payload) / static_cast<double>(wanted.items);
  RecordProperty("bytes_beyond_key_and_value", std::to_string(each));
  EXPECT_LE(each, kAllowed);
  EXPECT_EQ(f.store().usage().items, wanted.items);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, Footprint,
    ::testing::Values(Case{kMany, 0, true}, Case{kMany, 0, false}, Case{kMany * 12 / 11, 0, true},
                      Case{kMany * 6 / 5, 0, true}, Case{kMany, 1U << 30, true},
                      Case{kMany * 12 / 11, 1U << 30, true}, Case{kMany * 6 / 5, 1U << 30, true}),
    [](const auto& info) {
      return std::to_string(info.param.items) + (info.param.max_bytes != 0 ? "Bounded" : "") +
             (info.param.expires ? "Expiring" : "Lasting");
    });

}  // namespace
}  // namespace once::memory
