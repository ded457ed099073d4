#include "primitives/sketches/distinct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "primitives/record.h"

namespace once::sketches {
namespace {

// With a sanitizer, a thousand million items would take a minute and show nothing more. Fewer than
// twenty sets vary too much.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kLargeSets = 20;
#else
constexpr std::uint64_t kLargeSets = 100;
#endif

std::string_view bytes_of(const std::uint64_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// Items [first, first + count), as bytes.
Distinct sketch_of(std::uint64_t first, std::uint64_t count, unsigned precision = 14) {
  Distinct sketch(precision);
  for (std::uint64_t i = first; i < first + count; ++i) sketch.add(bytes_of(i));
  return sketch;
}

// The root mean square of the relative error over `sets` sets without common items.
double rms_error(std::uint64_t sets, std::uint64_t size) {
  double squares = 0;
  for (std::uint64_t set = 0; set < sets; ++set) {
    const double estimate = sketch_of(set * size, size).estimate();
    const double error = estimate / static_cast<double>(size) - 1;
    squares += error * error;
  }
  return std::sqrt(squares / static_cast<double>(sets));
}

TEST(Distinct, RmsErrorOverAHundredSetsOfAThousandIsAtMostOnePercent) {
  EXPECT_LE(rms_error(100, 1'000), 0.001);  // Sparse: far better than required.
}

TEST(Distinct, RmsErrorOverAHundredSetsOfAHundredThousandIsAtMostOnePercent) {
  EXPECT_LE(rms_error(100, 100'000), 0.01);
}

TEST(Distinct, RmsErrorOverAHundredSetsOfTenMillionIsAtMostOnePercent) {
  EXPECT_LE(rms_error(kLargeSets, 10'000'000), 0.01);
}

TEST(Distinct, EstimateHasNoStepWhereItTurnsDense) {
  for (const std::uint64_t size : {3'071U, 3'072U, 3'073U, 4'000U, 6'000U, 10'000U, 40'000U}) {
    EXPECT_LE(rms_error(30, size), 0.01) << size;
  }
}

TEST(Distinct, NothingCountsAsZero) {
  EXPECT_EQ(Distinct().estimate(), 0);
  EXPECT_EQ(Distinct::decode(Distinct().encode()).value(), Distinct());
}

TEST(Distinct, FewItemsAreCountedExactlyAndTakeFewBytes) {
  EXPECT_LT(Distinct().encode().size(), 16U);
  for (const std::uint64_t size : {1U, 2U, 10U, 100U, 1'000U}) {
    const Distinct sketch = sketch_of(7, size);
    EXPECT_EQ(std::lround(sketch.estimate()), static_cast<long>(size));
    EXPECT_LT(sketch.encode().size(), 16 + 5 * size);
  }
  EXPECT_LT(sketch_of(0, 1'000'000).encode().size(), 12'288U + 16);
}

TEST(Distinct, AnItemAddedAgainChangesNothing) {
  Distinct sketch = sketch_of(0, 100);
  const Bytes before = sketch.encode();
  for (std::uint64_t i = 0; i < 100; ++i) sketch.add(bytes_of(i));
  EXPECT_EQ(sketch.encode(), before);
}

TEST(Distinct, MergingGivesTheBytesOfTheUnionWhateverTheOrder) {
  std::mt19937_64 random(3);
  for (const std::uint64_t size : {5U, 900U, 2'000U, 20'000U}) {
    const Bytes whole = sketch_of(0, 4 * size).encode();
    std::vector<Distinct> parts;
    for (std::uint64_t i = 0; i < 4; ++i) parts.push_back(sketch_of(i * size, size));
    for (int round = 0; round < 5; ++round) {
      std::ranges::shuffle(parts, random);
      Distinct left = parts[0];
      Distinct right = parts[2];
      ASSERT_TRUE(left.merge(parts[1]) && right.merge(parts[3]) && left.merge(right));
      EXPECT_EQ(left.encode(), whole);
      ASSERT_TRUE(left.merge(left));
      EXPECT_EQ(left.encode(), whole);
    }
  }
}

TEST(Distinct, AFullHashRangeSurvivesTheSparseForm) {
  for (const unsigned precision : {kMinPrecision, 14U, kMaxPrecision}) {
    const Distinct direct = sketch_of(0, 200'000, precision);
    Distinct merged(precision);
    for (std::uint64_t i = 0; i < 200'000; i += 50) {
      ASSERT_TRUE(merged.merge(sketch_of(i, 50, precision)));
    }
    EXPECT_EQ(merged, direct);
  }
}

TEST(Distinct, AnotherPrecisionIsRefusedAndChangesNothing) {
  Distinct sketch = sketch_of(0, 50);
  const Bytes before = sketch.encode();
  const Result<void> merged = sketch.merge(sketch_of(0, 50, 12));
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, ErrorCode::invalid);
  EXPECT_EQ(sketch.encode(), before);
}

TEST(Distinct, EveryDamagedByteIsCorrupt) {
  for (const std::uint64_t size : {0U, 3U, 5'000U}) {
    const Bytes sound = sketch_of(0, size).encode();
    ASSERT_EQ(Distinct::decode(sound).value().encode(), sound);
    for (std::size_t i = 0; i < sound.size(); i += 1 + sound.size() / 500) {
      Bytes damaged = sound;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      EXPECT_FALSE(Distinct::decode(damaged)) << i;
      EXPECT_FALSE(Distinct::decode(sound.substr(0, i))) << i;
    }
  }
}

// Sound by its checksum, but not a sketch.
TEST(Distinct, FieldsWithoutSenseAreCorrupt) {
  using Fields = std::vector<std::uint64_t>;  // After the precision: form, count, cells.
  const std::vector<std::pair<std::uint64_t, Fields>> all = {{7, {0, 0}},
                                                             {19, {0, 0}},
                                                             {14, {2, 0}},
                                                             {14, {0, 3'073}},
                                                             {14, {0, 1}},
                                                             {14, {0, 1, 64}},
                                                             {14, {0, 1, 40}},
                                                             {14, {0, 2, 65, 1}},
                                                             {14, {0, 2, 65, 0}},
                                                             {14, {0, 0, 5}},
                                                             {14, {0, 1, 1ULL << 33 | 1}}};
  for (const auto& [precision, fields] : all) {
    RecordWriter out(RecordKind::distinct, 1);
    out.number(precision);
    for (const std::uint64_t field : fields) out.number(field);
    EXPECT_EQ(Distinct::decode(out.finish()).error().code, ErrorCode::corrupt);
  }
  for (const Bytes& registers : {Bytes(12'288, '\0'), Bytes(12'288, '\xff'), Bytes(12'287, '\1')}) {
    RecordWriter out(RecordKind::distinct, 1);
    out.number(14);
    out.number(1);
    out.bytes(registers);
    EXPECT_EQ(Distinct::decode(out.finish()).error().code, ErrorCode::corrupt);
  }
}

TEST(Distinct, ANewerFormatIsUnsupportedRatherThanMisread) {
  RecordWriter out(RecordKind::distinct, 2);
  EXPECT_EQ(Distinct::decode(out.finish()).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace once::sketches
