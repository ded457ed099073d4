#include "primitives/claim_record.h"

#include <gtest/gtest.h>

#include "primitives/record.h"

namespace once::claims {
namespace {

ClaimRecord full_record() {
  return {.state = ClaimRecord::State::busy,
          .fence = std::numeric_limits<std::int64_t>::max(),
          .attempt = 7,
          .nonce = ~0ULL,
          .owner = "owner",
          .request = "request",
          .payload_hash = hash_of("payload"),
          .ttl = std::chrono::hours(24),
          .claimed = Time(Duration(1)),
          .lease_until = Time(Duration(2)),
          .completed = Time(Duration(3)),
          .kept_until = kNever,
          .result = Bytes("\0\xff", 2)};
}

TEST(ClaimRecord, ComesBackAsItWasWritten) {
  EXPECT_EQ(decode_claim(encode(full_record())).value(), full_record());
  EXPECT_EQ(decode_claim(encode({})).value(), ClaimRecord{});
}

TEST(ClaimRecord, EveryFlippedBitAndEveryCutIsCorrupt) {
  const Bytes sound = encode(full_record());
  for (std::size_t i = 0; i < sound.size() * 8; ++i) {
    Bytes flipped = sound;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    EXPECT_EQ(decode_claim(flipped).error().code, ErrorCode::corrupt) << i;
  }
  for (std::size_t length = 0; length < sound.size(); ++length) {
    EXPECT_EQ(decode_claim(sound.substr(0, length)).error().code, ErrorCode::corrupt);
  }
  EXPECT_EQ(decode_claim(std::int64_t{5}).error().code, ErrorCode::corrupt);
}

// Its low byte says busy.
TEST(ClaimRecord, AStateBeyondItsRangeIsNotReadAsAnother) {
  RecordWriter out(RecordKind::claim, 1);
  out.number(257);
  for (int i = 0; i < 7; ++i) out.number(0);
  for (int i = 0; i < 4; ++i) out.time(Time{});
  out.bytes("");
  EXPECT_EQ(decode_claim(out.finish()).error().code, ErrorCode::corrupt);
}

TEST(ClaimRecord, AnOutcomeOfAnyTimeHasAnExpiry) {
  ClaimRecord record = full_record();
  record.state = ClaimRecord::State::done;
  record.kept_until = Time(Duration::min());
  EXPECT_GT(expiry_of(record, Time{}), record.kept_until);
}

TEST(ClaimRecord, ATicketComesBackAndNothingElsePassesForOne) {
  const Ticket ticket = seal({full_record(), {42}});
  EXPECT_EQ(unseal(ticket)->record, full_record());
  EXPECT_EQ(unseal(ticket)->version, Version{42});
  for (std::size_t i = 0; i < ticket.text.size(); ++i) {
    Ticket other = ticket;
    other.text[i] = other.text[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(unseal(other).error().code, ErrorCode::invalid) << i;
  }
}

}  // namespace
}  // namespace once::claims
