#include "primitives/tally_record.h"

#include <gtest/gtest.h>

namespace once::tallies {
namespace {

const TallyBucket kBucket{.state = state_of_native(TallyKind::sum, 5),
                          .until = Time(Duration(9)),
                          .ids = {{"id", "hash", 7, Time(Duration(10))}}};

Result<TallyBucket> decoded(Value value, TallyKind kind) {
  const Item item{.value = std::move(value), .version = {1}};
  return decode_bucket(item, kind, *monoid_of({.kind = kind}).value());
}

TEST(TallyRecord, ABucketComesBackAsItWasWithAndWithoutIds) {
  for (const TallyKind kind : {TallyKind::sum, TallyKind::min, TallyKind::real}) {
    EXPECT_EQ(decoded(encode(kBucket, kind), kind).value(), kBucket);
    const TallyBucket bare{.state = state_of_native(TallyKind::sum, 5)};
    EXPECT_EQ(decoded(encode(bare, kind), kind).value(), bare);
  }
}

TEST(TallyRecord, ABucketThatShouldBeAnIntegerIsCorruptAsARecord) {
  const TallyBucket bare{.state = state_of_native(TallyKind::sum, 5)};
  const Value record = encode(bare, TallyKind::real);
  EXPECT_EQ(decoded(record, TallyKind::real).value(), bare);
  EXPECT_EQ(decoded(record, TallyKind::sum).error().code, ErrorCode::corrupt);
  EXPECT_EQ(decoded(record, TallyKind::max).error().code, ErrorCode::corrupt);
}

TEST(TallyRecord, AWindowThatIsNoneIsCorrupt) {
  const TallyMeta last{"sum", TallyWindow::day};
  EXPECT_EQ(decode_meta(encode(last)).value(), last);
  const TallyMeta week{.monoid = "sum", .window = {std::chrono::days(7)}, .life = 3};
  EXPECT_EQ(decode_meta(encode(week)).value(), week);
  const TallyMeta odd{"sum", {std::chrono::minutes(7)}};
  EXPECT_EQ(decode_meta(encode(odd)).error().code, ErrorCode::corrupt);
}

TEST(TallyRecord, AMarkerComesBackAndNegativeBucketsAreCorrupt) {
  TallyMarker marker{"hash", 60'000, Time(Duration(9))};
  EXPECT_EQ(decode_marker(encode(marker)).value(), marker);
  marker.bucket = -1;
  EXPECT_EQ(decode_marker(encode(marker)).error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace once::tallies
