#include "primitives/sketches/bloom.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>
#include <string>

#include "primitives/record.h"

namespace once::sketches {
namespace {

std::string item(std::uint64_t number) { return "item-" + std::to_string(number); }

Bloom filter_of(BloomShape shape, std::uint64_t first, std::uint64_t count) {
  Bloom filter = Bloom::make(shape).value();
  for (std::uint64_t i = first; i < first + count; ++i) filter.add(item(i));
  return filter;
}

// The share of false positives among `asked` items that were never added.
double false_rate(const Bloom& filter, std::uint64_t first, std::uint64_t asked) {
  std::uint64_t wrong = 0;
  for (std::uint64_t i = first; i < first + asked; ++i)
    wrong += filter.may_contain(item(i)) ? 1 : 0;
  return static_cast<double>(wrong) / static_cast<double>(asked);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::array kRates{0.1};  // Arithmetic on one thread, and fifty times slower.
#else
constexpr std::array kRates{0.1, 0.01, 0.001};
#endif

TEST(Bloom, MeetsItsDeclaredRateWhenFull) {
  constexpr std::uint64_t kAsked = 200'000;
  for (const double rate : kRates) {
    for (const std::uint64_t capacity : {100U, 10'000U, 100'000U}) {
      // The rate of a single small filter varies, so the mean of several is checked.
      double sum = 0;
      const int filters = capacity <= 1'000 ? 20 : 2;
      for (int i = 0; i < filters; ++i) {
        const std::uint64_t first = static_cast<std::uint64_t>(i) * 1'000'000;
        sum += false_rate(filter_of({capacity, rate}, first, capacity), first + capacity, kAsked);
      }
      EXPECT_LE(sum / filters, rate * 1.05) << capacity << " at " << rate;
    }
  }
}

TEST(Bloom, NeverDeniesWhatWasAdded) {
  for (const std::uint64_t count : {1U, 1'000U, 5'000U}) {  // The last is beyond capacity.
    const Bloom filter = filter_of({1'000, 0.01}, 0, count);
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(filter.may_contain(item(i)));
  }
  EXPECT_FALSE(Bloom::make({}).value().may_contain("anything"));
}

TEST(Bloom, MergingGivesTheBytesOfTheUnion) {
  const BloomShape shape{1'000, 0.01};
  Bloom merged = filter_of(shape, 500, 500);
  ASSERT_TRUE(merged.merge(filter_of(shape, 0, 600)));
  EXPECT_EQ(merged.encode(), filter_of(shape, 0, 1'000).encode());
  ASSERT_TRUE(merged.merge(merged));
  EXPECT_EQ(merged, Bloom::decode(filter_of(shape, 0, 1'000).encode()).value());
}

TEST(Bloom, ALargeFilterCostsWhatIsInItAndNotWhatItIsFor) {
  const BloomShape large{13'000'000, 0.01};
  ASSERT_GT(Bloom::bytes_of(large).value(), 14U << 20);
  const Bloom few = filter_of(large, 0, 10);
  EXPECT_LT(few.encode().size(), 500U);
  EXPECT_EQ(Bloom::decode(few.encode()).value(), few);
  EXPECT_TRUE(few.may_contain(item(9)));
  EXPECT_FALSE(few.may_contain(item(10)));
}

TEST(Bloom, SparseAndDenseAnswerAndMergeAlike) {
  const BloomShape shape{10'000, 0.01};
  for (const std::uint64_t count : {1U, 200U, 230U, 3'000U}) {
    const Bloom filter = filter_of(shape, 0, count);
    const Bloom dense = Bloom::decode(filter.encode_dense()).value();
    for (std::uint64_t i = 0; i < 5'000; ++i) {
      ASSERT_EQ(filter.may_contain(item(i)), dense.may_contain(item(i))) << i;
    }
    for (const std::uint64_t others : {1U, 200U, 3'000U}) {
      const Bloom other = filter_of(shape, 100, others);
      Bloom merged = filter;
      Bloom merged_dense = dense;
      ASSERT_TRUE(merged.merge(other));
      ASSERT_TRUE(merged_dense.merge(other));
      EXPECT_EQ(merged.encode_dense(), merged_dense.encode_dense());
      Bloom reverse = other;
      ASSERT_TRUE(reverse.merge(filter));
      EXPECT_EQ(reverse.encode(), merged.encode());
    }
  }
}

TEST(Bloom, MergedInItsBytesAStoredFilterIsTheSame) {
  const BloomShape shape{10'000, 0.01};
  for (const std::uint64_t count : {0U, 200U, 3'000U}) {
    const Bloom filter = filter_of(shape, 0, count);
    for (const std::uint64_t others : {0U, 1U, 3'000U}) {
      const Bloom other = filter_of(shape, 100, others);
      Bloom wanted = Bloom::decode(filter.encode_dense()).value();
      ASSERT_TRUE(wanted.merge(other));
      for (const Bytes& from : {other.encode(), other.encode_dense()}) {
        Bytes stored = filter.encode_dense();
        EXPECT_TRUE(Bloom::merge_in_place(stored, from).value());
        EXPECT_EQ(stored, wanted.encode());
      }
      Bytes sparse = filter_of(shape, 0, 200).encode();
      const Bytes before = sparse;
      EXPECT_FALSE(Bloom::merge_in_place(sparse, other.encode()).value());
      EXPECT_EQ(sparse, before);
    }
  }
}

TEST(Bloom, MergedInItsBytesAFilterTakesNothingThatIsDamagedOrOfAnotherShape) {
  const Bytes sound = filter_of({1'000, 0.01}, 0, 10).encode_dense();
  Bytes damaged = sound;
  damaged[20] = static_cast<char>(damaged[20] ^ 4);
  for (const Bytes& from : {damaged, filter_of({1'001, 0.01}, 0, 10).encode(),
                            filter_of({100'000, 0.01}, 0, 10).encode()}) {
    Bytes stored = sound;
    EXPECT_FALSE(Bloom::merge_in_place(stored, from).has_value());
    EXPECT_EQ(stored, sound);
  }
  EXPECT_FALSE(Bloom::merge_in_place(damaged, sound).has_value());
}

TEST(Bloom, AnotherShapeIsRefusedAndChangesNothing) {
  Bloom filter = filter_of({1'000, 0.01}, 0, 10);
  const Bytes before = filter.encode();
  EXPECT_FALSE(filter.merge(Bloom::make({1'001, 0.01}).value()));
  EXPECT_FALSE(filter.merge(Bloom::make({1'000, 0.011}).value()));
  EXPECT_EQ(filter.encode(), before);
}

TEST(Bloom, ShapesWithoutSenseAreInvalid) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double rate : {0.0, -1.0, 0.6, 1.0, nan})
    EXPECT_FALSE(Bloom::make({10, rate})) << rate;
  EXPECT_FALSE(Bloom::make({0, 0.01}));
  EXPECT_FALSE(Bloom::make({100'000'000, 0.01}));
  EXPECT_FALSE(Bloom::make({std::numeric_limits<std::uint64_t>::max(), 0.01}));
}

TEST(Bloom, EveryDamagedByteIsCorrupt) {
  for (const std::uint64_t capacity : {100U, 100'000U}) {  // Dense and sparse.
    const Bytes sound = filter_of({capacity, 0.01}, 0, 50).encode();
    for (std::size_t i = 0; i < sound.size(); ++i) {
      Bytes damaged = sound;
      damaged[i] = static_cast<char>(damaged[i] ^ 4);
      EXPECT_FALSE(Bloom::decode(damaged)) << i;
      EXPECT_FALSE(Bloom::decode(sound.substr(0, i))) << i;
    }
  }
}

TEST(Bloom, ASmallFilterIsNeverSparse) {
  RecordWriter out(RecordKind::bloom, 2);
  out.number(100);
  out.number(std::bit_cast<std::uint64_t>(0.01));
  out.number(0);
  EXPECT_FALSE(Bloom::decode(out.finish()));
}

}  // namespace
}  // namespace once::sketches
