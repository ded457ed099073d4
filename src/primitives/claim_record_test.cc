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

Item item_of(Value value, Time expiry = kNever) { return {std::move(value), {1}, expiry}; }

ErrorCode error_in(Value value, Time expiry = kNever) {
  return decode_claim(item_of(std::move(value), expiry)).error().code;
}

TEST(ClaimRecord, ComesBackAsItWasWritten) {
  EXPECT_EQ(decode_claim(item_of(encode(full_record()))).value(), full_record());
  EXPECT_EQ(decode_claim(item_of(encode({}))).value(), ClaimRecord{});
}

TEST(ClaimRecord, AMarkIsItsTtlAndComesBackFromTheExpiry) {
  for (const std::int64_t now : {0L, 1L, 1'900'000'000'000L}) {
    for (const Duration ttl : {Duration(0), Duration(1), Duration(std::chrono::years(10))}) {
      const ClaimRecord mark = mark_at(Time(Duration(now)), ttl);
      EXPECT_EQ(encode_mark(mark), Value(std::int64_t{ttl.count()}));
      EXPECT_EQ(decode_mark(item_of(encode_mark(mark), expiry_of_mark(mark))).value(), mark);
      const Time expiry_before = later(mark.kept_until, kFenceMemory);
      EXPECT_EQ(decode_claim(item_of(encode_mark(mark), expiry_before)).value(), mark);
      EXPECT_TRUE(is_old_mark(mark));
    }
  }
}

TEST(ClaimRecord, WhatSaysMoreThanAMarkIsKeptWhole) {
  const ClaimRecord mark = mark_at(Time(Duration(1'000)), Duration(5));
  const auto kept_whole = [&](auto change) {
    ClaimRecord record = mark;
    change(record);
    const Value value = encode_mark(record);
    return std::holds_alternative<Bytes>(value) &&
           decode_mark(item_of(value, expiry_of_mark(mark))) == record;
  };
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { record.state = ClaimRecord::State::failed; }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { ++record.fence; }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { ++record.attempt; }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { record.nonce = 1; }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { record.owner = "o"; }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { record.request = "r"; }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { record.payload_hash = hash_of("p"); }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { record.claimed += Duration(1); }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { record.lease_until += Duration(1); }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { record.kept_until += Duration(1); }));
  EXPECT_TRUE(kept_whole([](ClaimRecord& record) { record.result = "r"; }));
}

TEST(ClaimRecord, ANumberThatIsNoMarkIsCorrupt) {
  const Time expiry = Time{} + kFenceMemory + Duration(5);
  EXPECT_TRUE(decode_claim(item_of(std::int64_t{5}, expiry)).has_value());
  EXPECT_EQ(error_in(std::int64_t{6}, expiry), ErrorCode::corrupt);
  EXPECT_EQ(error_in(std::int64_t{-1}, expiry), ErrorCode::corrupt);
  EXPECT_EQ(error_in(std::int64_t{0}, Time{}), ErrorCode::corrupt);
  EXPECT_EQ(error_in(std::int64_t{0}, Time::min()), ErrorCode::corrupt);
  EXPECT_EQ(error_in(std::int64_t{5}, kNever), ErrorCode::corrupt);
}

TEST(ClaimRecord, EveryFlippedBitAndEveryCutIsCorrupt) {
  const Bytes sound = std::get<Bytes>(encode(full_record()));
  for (std::size_t i = 0; i < sound.size() * 8; ++i) {
    Bytes flipped = sound;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    EXPECT_EQ(error_in(flipped), ErrorCode::corrupt) << i;
  }
  for (std::size_t length = 0; length < sound.size(); ++length) {
    EXPECT_EQ(error_in(sound.substr(0, length)), ErrorCode::corrupt);
  }
}

// Its low byte says busy.
TEST(ClaimRecord, AStateBeyondItsRangeIsNotReadAsAnother) {
  RecordWriter out(RecordKind::claim, 1);
  out.number(257);
  for (int i = 0; i < 7; ++i) out.number(0);
  for (int i = 0; i < 4; ++i) out.time(Time{});
  out.bytes("");
  EXPECT_EQ(error_in(out.finish()), ErrorCode::corrupt);
}

TEST(ClaimRecord, AnEarlierFailureComesBackAndIsNoPartOfATicket) {
  ClaimRecord record = full_record();
  record.receipt.clear();
  record.previous = EarlierFailure{"no luck", Time(Duration(7)), 3};
  EXPECT_EQ(decode_claim(item_of(encode(record))).value(), record);
  const StoreSecret secret{.key = {1, 2}};
  const Key key = claim_key("default", "job");
  const Ticket ticket = seal({.record = record, .version = {42}, .whole = false}, key, secret);
  const OpenTicket open = unseal(ticket, key, secret).value();
  EXPECT_FALSE(open.whole);
  EXPECT_TRUE(open.vouched);
  EXPECT_FALSE(open.record.previous.has_value());
}

TEST(ClaimRecord, H13_AFenceThatTimeDoesNotSurpassIsRememberedForAnHour) {
  ClaimRecord record = full_record();
  record.state = ClaimRecord::State::done;
  record.kept_until = Time(Duration(1'000'000));
  record.fence = 1'000'000;
  EXPECT_EQ(expiry_of(record, {}), record.kept_until + kReplyMemory);
  ++record.fence;
  EXPECT_EQ(expiry_of(record, {}), record.kept_until + kFenceMemory);
}

TEST(ClaimRecord, AnOutcomeOfAnyTimeHasAnExpiry) {
  ClaimRecord record = full_record();
  record.state = ClaimRecord::State::done;
  record.kept_until = Time(Duration::min());
  EXPECT_GT(expiry_of(record, Time{}), record.kept_until);
}

const StoreSecret kSecret{.key = {1, 2}, .created = Time(Duration(1'000))};
const Key kKey = claim_key("default", "job");

TEST(ClaimRecord, ATicketComesBackAndNothingElsePassesForOne) {
  const Ticket ticket = seal({full_record(), {42}}, kKey, kSecret);
  const OpenTicket open = unseal(ticket, kKey, kSecret).value();
  EXPECT_EQ(open.record, full_record());
  EXPECT_EQ(open.version, Version{42});
  EXPECT_TRUE(open.vouched);
  for (std::size_t i = 0; i < ticket.text.size(); ++i) {
    Ticket other = ticket;
    other.text[i] = other.text[i] == 'A' ? 'B' : 'A';
    const Result<OpenTicket> changed = unseal(other, kKey, kSecret);
    EXPECT_FALSE(changed && changed->vouched) << i;
    EXPECT_TRUE(changed || changed.error().code == ErrorCode::invalid) << i;
  }
  for (std::size_t length = 0; length < ticket.text.size(); ++length) {
    const Result<OpenTicket> cut = unseal({ticket.text.substr(0, length)}, kKey, kSecret);
    EXPECT_FALSE(cut && cut->vouched) << length;
  }
}

TEST(ClaimRecord, H46_ATicketIsGoodForItsKeyAndItsStoreAlone) {
  const Ticket ticket = seal({full_record(), {42}}, kKey, kSecret);
  const StoreSecret other{.key = {1, 3}, .created = kSecret.created};
  EXPECT_FALSE(unseal(ticket, claim_key("default", "other"), kSecret)->vouched);
  EXPECT_FALSE(unseal(ticket, claim_key("team", "job"), kSecret)->vouched);
  EXPECT_FALSE(unseal(ticket, kKey, other)->vouched);
}

TEST(ClaimRecord, H46_WhatTheStoreDoesNotVouchForIsGoodForClaimsFromElsewhereOnly) {
  ClaimRecord record = full_record();
  record.fence = 7;
  const auto open = [&] {
    return unseal(seal({record, {42}}, kKey, {.key = {5, 6}}), kKey, kSecret).value();
  };
  EXPECT_TRUE(is_ticket_of(open(), record, kKey, kSecret));
  record.nonce = nonce_for(~0ULL, record.fence, kKey, kSecret);
  EXPECT_FALSE(is_ticket_of(open(), record, kKey, kSecret));
  EXPECT_TRUE(is_ticket_of({record, {42}}, record, kKey, kSecret));
  const OpenTicket before = open();
  record.nonce = nonce_for(0, record.fence, kKey, {.key = {5, 6}});
  EXPECT_FALSE(is_ticket_of(before, record, kKey, kSecret)) << "of another claim";
  EXPECT_TRUE(is_ticket_of(open(), record, kKey, kSecret)) << "of another store";
}

TEST(ClaimRecord, APlainMarkIsTheItemOfItsRecord) {
  const Duration day = std::chrono::hours(24);
  for (const Time now :
       {Time{}, Time(Duration(1'700'000'000'000)), Time(Duration(-5)), kNever - day}) {
    for (const Duration ttl : {Duration::zero(), day, Duration(std::chrono::years(10))}) {
      const ClaimRecord record = mark_at(now, ttl);
      const std::optional<PlainMark> plain = plain_mark(now, ttl);
      const Value value = encode_mark(record);
      ASSERT_EQ(plain.has_value(), std::holds_alternative<std::int64_t>(value));
      if (!plain) continue;
      EXPECT_EQ(Value(plain->value), value);
      EXPECT_EQ(plain->expiry, expiry_of_mark(record));
    }
  }
}

}  // namespace
}  // namespace once::claims
