#include "primitives/sketches/top.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <ranges>

#include "primitives/record.h"

namespace once::sketches {
namespace {

using Truth = std::map<std::string, std::uint64_t>;

struct Counted {
  Top top;
  Truth truth;
};

// Items drawn with a heavy tail, some of them with large counts.
Counted drawn(std::mt19937_64& random, std::size_t counters, int items) {
  Counted counted{Top(counters), {}};
  std::exponential_distribution<double> rare(0.05);
  for (int i = 0; i < items; ++i) {
    const std::string item = "item-" + std::to_string(std::lround(std::pow(rare(random), 1.5)));
    const std::uint64_t count = random() % 10 == 0 ? random() % 50 + 1 : 1;
    EXPECT_TRUE(counted.top.add(item, count));
    counted.truth[item] += count;
  }
  return counted;
}

void merge(Counted& into, const Counted& from) {
  ASSERT_TRUE(into.top.merge(from.top));
  for (const auto& [item, count] : from.truth) into.truth[item] += count;
}

void expect_bounds(const Top& top, const Truth& truth) {
  std::uint64_t total = 0;
  for (const auto& [item, count] : truth) total += count;
  ASSERT_EQ(top.total(), total);
  ASSERT_LE(top.error(), total / (top.counters() + 1));
  Truth unreported = truth;
  for (const Heavy& heavy : top.report()) {
    const std::uint64_t count = truth.at(heavy.item);
    ASSERT_LE(count, heavy.count);
    ASSERT_GE(count, heavy.count - heavy.error);
    unreported.erase(heavy.item);
  }
  for (const auto& [item, count] : unreported) ASSERT_LE(count, top.error());
}

TEST(Top, BoundsHoldUnderRandomMergeTrees) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t counters = 1 + random() % 40;
    std::vector<Counted> parts;
    for (int i = 0; i < 16; ++i) {
      parts.push_back(drawn(random, counters, static_cast<int>(random() % 200)));
    }
    while (parts.size() > 1) {
      std::ranges::shuffle(parts, random);
      merge(parts[0], parts.back());
      parts.pop_back();
      parts[0].top = Top::decode(parts[0].top.encode()).value();
      expect_bounds(parts[0].top, parts[0].truth);
    }
  }
}

// A known design's merge kept the first k it met, so the answer depended on the order.
TEST(Top, TwoMergeOrdersDifferNoMoreThanTheirBoundsSay) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Counted> parts;
    for (int i = 0; i < 10; ++i) parts.push_back(drawn(random, 20, 200));
    Top forward(20);
    Top backward(20);
    for (const Counted& part : parts) ASSERT_TRUE(forward.merge(part.top));
    for (const Counted& part : parts | std::views::reverse) {
      ASSERT_TRUE(backward.merge(part.top));
    }
    const std::vector<Heavy> others = backward.report();
    for (const Heavy& heavy : forward.report()) {
      const auto same = std::ranges::find(others, heavy.item, &Heavy::item);
      const std::uint64_t least = same == others.end() ? 0 : same->count - same->error;
      const std::uint64_t most = same == others.end() ? backward.error() : same->count;
      EXPECT_LE(least, heavy.count);
      EXPECT_GE(most, heavy.count - heavy.error);
    }
  }
}

TEST(Top, IsExactWhileEveryItemHasACounter) {
  Top top(3);
  for (const auto* item : {"b", "a", "c", "a", "a", "c"}) ASSERT_TRUE(top.add(item));
  const std::vector<Heavy> expected = {{"a", 3, 0}, {"c", 2, 0}, {"b", 1, 0}};
  EXPECT_EQ(top.report(), expected);
}

TEST(Top, MergingCommutes) {
  std::mt19937_64 random(5);
  const Counted a = drawn(random, 10, 300);
  const Counted b = drawn(random, 10, 300);
  Top ab = a.top;
  Top ba = b.top;
  ASSERT_TRUE(ab.merge(b.top) && ba.merge(a.top));
  EXPECT_EQ(ab.encode(), ba.encode());
  Top unchanged = a.top;
  ASSERT_TRUE(unchanged.merge(Top(10)));
  EXPECT_EQ(unchanged, a.top);
}

TEST(Top, WhatCannotBeAddedIsRefusedAndChangesNothing) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  Top top(4);
  ASSERT_TRUE(top.add("a", kMost));
  const Bytes before = top.encode();
  EXPECT_FALSE(top.add("a"));
  EXPECT_FALSE(top.add("b"));
  EXPECT_FALSE(top.add("b", std::numeric_limits<std::uint64_t>::max()));
  EXPECT_FALSE(Top(4).add("b", 0));
  EXPECT_FALSE(Top(4).add(std::string(kMaxTopItem + 1, 'x')));
  EXPECT_FALSE(top.merge(top));
  EXPECT_FALSE(top.merge(Top(5)));
  EXPECT_EQ(top.encode(), before);
}

TEST(Top, EveryDamagedByteIsCorrupt) {
  std::mt19937_64 random(7);
  const Bytes sound = drawn(random, 12, 400).top.encode();
  for (std::size_t i = 0; i < sound.size(); ++i) {
    Bytes damaged = sound;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(Top::decode(damaged)) << i;
    EXPECT_FALSE(Top::decode(sound.substr(0, i))) << i;
  }
}

// Sound by its checksum, but counts that no items can have.
TEST(Top, FieldsWithoutSenseAreCorrupt) {
  struct Fields {
    std::uint64_t counters, total, removed, items;
    std::vector<std::pair<std::string, std::uint64_t>> kept;
  };
  const std::vector<Fields> all = {{0, 0, 0, 0, {}},
                                   {20'000, 0, 0, 0, {}},
                                   {2, 1ULL << 63, 0, 0, {}},
                                   {2, 5, 2, 0, {}},
                                   {2, 5, 0, 3, {}},
                                   {2, 5, 0, 1, {}},
                                   {2, 5, 0, 1, {{"a", 6}}},
                                   {2, 5, 1, 1, {{"a", 3}}},
                                   {2, 5, 0, 1, {{"a", 0}}},
                                   {2, 5, 0, 2, {{"b", 1}, {"a", 1}}},
                                   {2, 5, 0, 2, {{"a", 1}, {"a", 1}}}};
  for (const Fields& fields : all) {
    RecordWriter out(RecordKind::top, 1);
    out.number(fields.counters);
    out.number(fields.total);
    out.number(fields.removed);
    out.number(fields.items);
    for (const auto& [item, count] : fields.kept) {
      out.bytes(item);
      out.number(count);
    }
    EXPECT_EQ(Top::decode(out.finish()).error().code, ErrorCode::corrupt);
  }
}

}  // namespace
}  // namespace once::sketches
