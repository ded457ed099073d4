#include "primitives/record.h"

#include <gtest/gtest.h>

namespace once {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

Bytes with_number(std::uint64_t number) {
  RecordWriter out(RecordKind::claim, 1);
  out.number(number);
  return out.finish();
}

// A record of exactly these bytes, eight for each word.
Bytes with_raw(std::initializer_list<std::uint64_t> words) {
  RecordWriter out(RecordKind::claim, 1);
  for (const std::uint64_t word : words) out.time(Time(Duration(static_cast<std::int64_t>(word))));
  return out.finish();
}

// The first field; empty if it is invalid.
std::optional<std::uint64_t> first_number(const Bytes& record, std::uint64_t most = kMost) {
  RecordReader in = RecordReader::open(record, RecordKind::claim, 1).value();
  const std::uint64_t number = in.number(most);
  while (!in.sound() && in.number() != 0) continue;  // The rest, up to the end or a fault.
  return in.sound() ? std::optional(number) : std::nullopt;
}

TEST(Record, NumbersComeBackAsTheyWereWritten) {
  for (const std::uint64_t number : {0ULL, 1ULL, 127ULL, 128ULL, 1ULL << 63, 0ULL + kMost}) {
    EXPECT_EQ(first_number(with_number(number)), number);
  }
}

TEST(Record, ANumberThatIsNotInItsShortestFormIsRefused) {
  EXPECT_EQ(first_number(with_raw({0x8101'0101'0101'0101})), 129U);
  EXPECT_EQ(first_number(with_raw({0x8100'0101'0101'0101})), std::nullopt);
  EXPECT_EQ(first_number(with_raw({0x8080'0001'0101'0101})), std::nullopt);
}

TEST(Record, ANumberBeyond64BitsIsRefused) {
  EXPECT_EQ(first_number(with_raw({kMost, 0xff01'0101'0101'0101})), kMost);
  EXPECT_EQ(first_number(with_raw({kMost, 0xff02'0101'0101'0101})), std::nullopt);
  EXPECT_EQ(first_number(with_raw({kMost, 0xff03'0101'0101'0101})), std::nullopt);
  EXPECT_EQ(first_number(with_raw({kMost, 0xffff'0101'0101'0101})), std::nullopt);
}

TEST(Record, ANumberAboveWhatItsFieldMayHoldIsRefused) {
  EXPECT_EQ(first_number(with_number(3), 3), 3U);
  EXPECT_EQ(first_number(with_number(4), 3), std::nullopt);
  EXPECT_EQ(first_number(with_number(256), 3), std::nullopt);
}

TEST(Record, ANewerFormatIsUnsupportedAndNoFormatCorrupt) {
  const auto refused = [](std::uint8_t format) {
    return RecordReader::open(RecordWriter(RecordKind::claim, format).finish(), RecordKind::claim,
                              1)
        .error()
        .code;
  };
  EXPECT_EQ(refused(2), ErrorCode::unsupported);
  EXPECT_EQ(refused(0), ErrorCode::corrupt);
}

}  // namespace
}  // namespace once
