#include "primitives/log_record.h"

#include <gtest/gtest.h>

#include "primitives/record.h"

namespace once::logs {
namespace {

LogRecord sample() {
  return {.count = 2,
          .parts = {{"id", 2}},
          .appended = Time(Duration(1'000)),
          .expires = Time(Duration(2'000)),
          .events = {{"one", std::nullopt}, {std::string("\0two", 4), Time(Duration(-7))}}};
}

TEST(LogRecord, ComesBackAsItWas) {
  const Result<LogRecord> back = decode_log(encode(sample()));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->count, 2);
  EXPECT_EQ(back->parts, sample().parts);
  EXPECT_EQ(back->appended, Time(Duration(1'000)));
  EXPECT_EQ(back->expires, Time(Duration(2'000)));
  EXPECT_EQ(back->events[1].data, std::string("\0two", 4));
  EXPECT_EQ(back->events[1].time, Time(Duration(-7)));
  EXPECT_FALSE(back->events[0].time.has_value());
}

TEST(LogRecord, OfSeveralBatchesComesBackAsItWas) {
  LogRecord record = sample();
  record.parts = {{"id", 1}, {"", 1}};
  EXPECT_EQ(decode_log(encode(record)).value(), record);
  EXPECT_EQ(encode(record, {encode_events(record.events)}), encode(record));
  EXPECT_EQ(record.offset_of("id"), 0);
  EXPECT_EQ(record.offset_of("other"), std::nullopt);
  record.parts = {{"", 1}, {"id", 1}};
  EXPECT_EQ(record.offset_of("id"), 1);
}

TEST(LogRecord, PartsThatDoNotAddUpAreCorrupt) {
  for (const std::int64_t second : {0, 2, -1}) {
    LogRecord record = sample();
    record.parts = {{"id", 1}, {"", second}};
    EXPECT_EQ(decode_log(encode(record)).error().code, ErrorCode::corrupt) << second;
  }
}

TEST(LogRecord, AnyDamagedByteIsCorrupt) {
  const Bytes sound = encode(sample());
  for (std::size_t i = 0; i < sound.size(); ++i) {
    Bytes damaged = sound;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_FALSE(decode_log(damaged).has_value()) << i;
    EXPECT_FALSE(decode_log(sound.substr(0, i)).has_value()) << i;
  }
  EXPECT_EQ(decode_log(Value(std::int64_t{5})).error().code, ErrorCode::corrupt);
}

TEST(LogRecord, ACountThatCannotBeIsCorrupt) {
  for (const std::int64_t count : {0, 3, 10'001, -1}) {
    LogRecord record = sample();
    record.count = count;
    EXPECT_EQ(decode_log(encode(record)).error().code, ErrorCode::corrupt) << count;
  }
}

TEST(LogRecord, AVoidOfSeveralIndexesIsCorrupt) {
  LogRecord record{.state = LogRecord::State::blank, .count = 1, .parts = {{"", 1}}};
  EXPECT_EQ(decode_log(encode(record)).value(), record);
  record.count = 2;
  EXPECT_EQ(decode_log(encode(record)).error().code, ErrorCode::corrupt);
}

TEST(LogRecord, AStateOrAFlagBeyondItsRangeIsNotReadAsAnother) {
  const auto fields = [](std::uint64_t state, std::uint64_t has_time) {
    RecordWriter out(RecordKind::log_batch, 1);
    out.number(state);
    out.number(1);
    out.bytes("");
    out.time(Time{});
    out.time(kNever);
    out.number(has_time);
    if (has_time != 0) out.time(Time{});
    out.bytes("data");
    return out.finish();
  };
  EXPECT_TRUE(decode_log(fields(0, 1)).has_value());
  EXPECT_EQ(decode_log(fields(256, 1)).error().code, ErrorCode::corrupt);
  EXPECT_EQ(decode_log(fields(0, 2)).error().code, ErrorCode::corrupt);
}

TEST(LogRecord, ABatchIdComesBackAsItWas) {
  const BatchId id{.at = 7, .count = 2, .hash = hash_of(sample().events)};
  const Result<BatchId> back = decode_batch_id(encode(id));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->at, 7);
  EXPECT_EQ(back->count, 2);
  EXPECT_EQ(back->hash, id.hash);
  for (const std::optional<std::int64_t> offset : {std::optional<std::int64_t>(5), {}}) {
    const BatchId inside{.at = 7, .count = 2, .hash = id.hash, .offset = offset};
    EXPECT_EQ(decode_batch_id(encode(inside)).value(), inside);
  }
  EXPECT_EQ(decode_batch_id(encode(sample())).error().code, ErrorCode::corrupt);
}

TEST(LogRecord, TheHashTellsEventsApartWhereverTheyAreCut) {
  EXPECT_NE(hash_of({{"ab", {}}, {"c", {}}}), hash_of({{"a", {}}, {"bc", {}}}));
  EXPECT_NE(hash_of({{"a", {}}}), hash_of({{"a", Time(Duration(1))}}));
  EXPECT_EQ(hash_of({{"a", {}}}), hash_of({{"a", {}}}));
}

}  // namespace
}  // namespace once::logs
