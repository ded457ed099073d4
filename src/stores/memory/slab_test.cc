#include "stores/memory/slab.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace once::memory {
namespace {

void fill(const Slab& slab, Ref ref, std::size_t bytes, std::uint8_t with) {
  std::memset(slab.at(ref), with, bytes);
}

bool holds_only(const Slab& slab, Ref ref, std::size_t bytes, std::uint8_t what) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(slab.at(ref));
  return std::all_of(at, at + bytes, [&](std::uint8_t byte) { return byte == what; });
}

TEST(Slab, FreedRoomIsUsedAgainBeforeMoreIsTaken) {
  Slab slab;
  std::vector<Ref> refs;
  for (int i = 0; i < 1'000; ++i) refs.push_back(slab.allocate(180));
  const std::size_t held = slab.held();
  for (const Ref ref : refs) slab.free(ref);
  for (int i = 0; i < 1'000; ++i) slab.allocate(180);
  EXPECT_EQ(slab.held(), held);
}

TEST(Slab, RoomOfSmallBlocksServesLargerOnesOnceFreed) {
  Slab slab;
  std::vector<Ref> refs;
  for (int i = 0; i < 10'000; ++i) refs.push_back(slab.allocate(60));
  const std::size_t held = slab.held();
  for (const Ref ref : refs) slab.free(ref);
  for (int i = 0; i < 500; ++i) slab.allocate(1'000);
  EXPECT_LE(slab.held(), held);
}

TEST(Slab, ChunksThatAreFreeThroughoutGoBackToTheSystem) {
  Slab slab;
  std::vector<Ref> refs;
  for (int i = 0; i < 10'000; ++i) refs.push_back(slab.allocate(100 + i % 300));
  EXPECT_GT(slab.held(), 2'000'000U);
  for (const Ref ref : refs) slab.free(ref);
  EXPECT_LE(slab.held(), 16U << 10);
}

TEST(Slab, LargeBlocksGoBackToTheSystemWhenFreed) {
  Slab slab;
  const Ref first = slab.allocate(1U << 20);
  const Ref second = slab.allocate(3'000);
  fill(slab, first, 1U << 20, 1);
  fill(slab, second, 3'000, 2);
  EXPECT_TRUE(holds_only(slab, first, 1U << 20, 1));
  EXPECT_EQ(slab.held(), (1U << 20) + 3'000);
  slab.free(first);
  EXPECT_EQ(slab.held(), 3'000U);
  EXPECT_EQ(slab.allocate(5'000), first);
  EXPECT_TRUE(holds_only(slab, second, 3'000, 2));
}

TEST(Slab, ABlockIsAlignedAndCostsAtMostElevenBytesMore) {
  Slab slab;
  for (std::size_t bytes = 12; bytes < 2'000; ++bytes) {
    EXPECT_LE(Slab::cost(bytes), bytes + 11);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slab.at(slab.allocate(bytes))) % 8, 0U);
  }
}

TEST(Slab, RandomUseNeverMixesBlocksAndEndsEmpty) {
  Slab slab;
  struct Block {
    std::size_t bytes;
    std::uint8_t with;
  };
  std::map<Ref, Block> live;
  std::mt19937 random(7);
  for (int step = 0; step < 60'000; ++step) {
    const bool grow = (step / 5'000) % 2 == 0 ? random() % 3 != 0 : random() % 3 == 0;
    if (grow || live.empty()) {
      const Block block{1 + random() % (random() % 50 == 0 ? 6'000 : 700),
                        static_cast<std::uint8_t>(random())};
      const Ref ref = slab.allocate(block.bytes);
      ASSERT_TRUE(live.emplace(ref, block).second);
      fill(slab, ref, block.bytes, block.with);
    } else {
      auto victim = live.lower_bound(static_cast<Ref>(random() % (live.rbegin()->first + 1)));
      ASSERT_TRUE(holds_only(slab, victim->first, victim->second.bytes, victim->second.with));
      slab.free(victim->first);
      live.erase(victim);
    }
  }
  for (const auto& [ref, block] : live) {
    ASSERT_TRUE(holds_only(slab, ref, block.bytes, block.with));
    slab.free(ref);
  }
  EXPECT_LE(slab.held(), 16U << 10);
}

}  // namespace
}  // namespace once::memory
