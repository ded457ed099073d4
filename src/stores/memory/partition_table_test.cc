#include "stores/memory/partition_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace once::memory {
namespace {

auto is(std::uint32_t wanted) {
  return [wanted](std::uint32_t entry) { return entry == wanted; };
}

// Every entry is found, and a walk meets the hashes in order.
void expect_same(const PartitionTable& table,
                 const std::multimap<std::uint32_t, std::uint32_t>& model) {
  ASSERT_EQ(table.size(), model.size());
  for (const auto& [hash, entry] : model) {
    const std::size_t index = table.find(hash, is(entry));
    ASSERT_NE(index, PartitionTable::kNone);
    ASSERT_EQ(table[index].entry, entry);
  }
  auto expected = model.begin();
  for (std::size_t i = table.next(0); i != PartitionTable::kNone; i = table.next(i + 1)) {
    ASSERT_NE(expected, model.end());
    ASSERT_EQ(table[i].hash, (expected++)->first);
  }
  ASSERT_EQ(expected, model.end());
}

void run_against_model(std::uint32_t hash_mask, std::uint32_t hash_bits) {
  PartitionTable table;
  std::multimap<std::uint32_t, std::uint32_t> model;
  std::mt19937 random(11);
  std::uint32_t next_entry = 1;
  for (int step = 0; step < 20'000; ++step) {
    const bool grow = (step / 4'000) % 2 == 0 ? random() % 4 != 0 : random() % 4 == 0;
    const std::uint32_t hash = (static_cast<std::uint32_t>(random()) & hash_mask) | hash_bits;
    if (grow) {
      table.insert(hash, next_entry);
      model.emplace(hash, next_entry++);
    } else if (auto victim = model.lower_bound(hash); victim != model.end()) {
      table.erase(table.find(victim->first, is(victim->second)));
      model.erase(victim);
    }
    if (step % 1'000 == 0) expect_same(table, model);
  }
  expect_same(table, model);
}

TEST(PartitionTable, KeepsEveryEntryInTheOrderOfHashes) { run_against_model(~0U, 0); }

TEST(PartitionTable, ManyEntriesOfFewHashesStayApart) { run_against_model(0x0f, 0); }

TEST(PartitionTable, HashesAtTheVeryEndFindRoom) { run_against_model(0x0f, 0xfffffff0); }

TEST(PartitionTable, LowerBoundStartsAtTheHashItselfOrTheNext) {
  PartitionTable table;
  for (std::uint32_t hash = 10; hash < 1'000; hash += 10) table.insert(hash << 20, hash);
  EXPECT_EQ(table[table.lower_bound(500U << 20)].entry, 500U);
  EXPECT_EQ(table[table.lower_bound((500U << 20) + 1)].entry, 510U);
  EXPECT_EQ(table[table.lower_bound(0)].entry, 10U);
  EXPECT_EQ(table.lower_bound((990U << 20) + 1), PartitionTable::kNone);
}

TEST(PartitionTable, AnEntryCostsNoMoreThanItIsChargedAndEmptyingGivesRoomBack) {
  PartitionTable table;
  std::mt19937 random(3);
  std::vector<std::uint32_t> hashes;
  for (std::uint32_t entry = 1; entry <= 100'000; ++entry) {
    hashes.push_back(static_cast<std::uint32_t>(random()));
    table.insert(hashes.back(), entry);
    if (entry > 10'000) {
      ASSERT_LE(table.held(), PartitionTable::kBytesPerEntry * entry);
    }
  }
  for (std::uint32_t entry = 1; entry <= 99'000; ++entry) {
    table.erase(table.find(hashes[entry - 1], is(entry)));
  }
  EXPECT_LE(table.held(), 40'000U);
}

}  // namespace
}  // namespace once::memory
