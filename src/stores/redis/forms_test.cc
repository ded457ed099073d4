// Names, records, cursors, the words of a cluster, and time: what needs no server.
#include <gtest/gtest.h>

#include <limits>

#include "stores/redis/scan_route.h"
#include "stores/redis/server_time.h"
#include "stores/redis/stored_form.h"
#include "stores/redis/walk.h"
#include "testing/manual_clock.h"

namespace once::redis {
namespace {

using testing::ManualClock;

constexpr std::int64_t kExact = std::int64_t{1} << 53;

TEST(RedisNames, AHomeIsTheHashTagWhateverBytesItHas) {
  EXPECT_EQ(string_name({"home", "part"}), "once:{home}part:0");
  EXPECT_EQ(set_name({"}a{%", ""}), "once:{%7Da%7B%25}:n");
  for (const std::string home : {"home", "}", "{}", "%7D", "a:0", "\xff", "*"}) {
    for (const std::string part : {"", "p", "}:0", ":n", "{x}"}) {
      const Partition partition{home, part};
      for (const bool is_set : {false, true}) {
        const std::string name = is_set ? set_name(partition) : string_name(partition);
        const std::optional<Name> parsed = parse_name(name);
        ASSERT_TRUE(parsed.has_value()) << name;
        EXPECT_EQ(parsed->partition, partition) << name;
        EXPECT_EQ(parsed->is_set, is_set) << name;
      }
    }
  }
}

TEST(RedisNames, WhatIsNotOursIsNotAName) {
  for (const char* const name : {"once:format", "once:{}:0", "once:{a:0", "once:{a}", "once:{a}:x",
                                 "other:{a}:0", "once:{%}:0", "once:{%41}:0", ""}) {
    EXPECT_FALSE(parse_name(name).has_value()) << name;
  }
}

// The values of the cluster's specification.
TEST(RedisNames, SlotsAreTheClustersOwn) {
  EXPECT_EQ(slot_of("123456789"), 0x31c3);
  EXPECT_EQ(slot_of("foo"), 12'182);
  EXPECT_EQ(slot_of("bar"), 5'061);
}

TEST(RedisNames, SortsAreOrderedAsText) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> sorts = {0, 1, 9, 10, kExact, kExact + 1, most - 1, most};
  for (std::size_t i = 0; i < sorts.size(); ++i) {
    EXPECT_EQ(sort_in(digits_of(sorts[i])), sorts[i]);
    if (i > 0) {
      EXPECT_LT(digits_of(sorts[i - 1]), digits_of(sorts[i]));
    }
  }
  EXPECT_EQ(sort_in("8000000000000000"), std::nullopt);
  EXPECT_EQ(sort_in("1"), std::nullopt);
}

TEST(RedisRecords, WhatWasDamagedIsCorrupt) {
  const Time expiry{Duration(1'234)};
  const std::string record = encode_record("name", "digits", Bytes("value"), {7}, expiry);
  const Result<Item> item = decode_record("name", "digits", record);
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(*item, (Item{Bytes("value"), {7}, expiry}));
  for (std::size_t i = 0; i < record.size(); ++i) {
    std::string damaged = record;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(decode_record("name", "digits", damaged).has_value()) << i;
    EXPECT_FALSE(decode_record("name", "digits", record.substr(0, i)).has_value()) << i;
  }
  EXPECT_FALSE(decode_record("other", "digits", record).has_value());
  EXPECT_FALSE(decode_record("name", "others", record).has_value());
  const std::string number = encode_record("name", "digits", std::int64_t{-5}, {7}, kNever);
  EXPECT_EQ(decode_record("name", "digits", number).value(), (Item{std::int64_t{-5}, {7}}));
  EXPECT_FALSE(decode_record("name", "digits", number + "x").has_value());
}

TEST(RedisCursors, AreReadBackWholeOrRefused) {
  const Place place{
      .state = 1, .server = 2, .scan = ~0ULL, .within = 3, .after = 4, .done = {5, 6}};
  const std::optional<Place> read = parse_cursor(to_cursor(place));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_cursor(*read), to_cursor(place));
  for (const char* const bad : {"", "1", "1.2.3.4", "1.2.3.4.x", "1.2.3.4.ffffffffffffffff",
                                "1.2.3.4.5..6", "1.2.3.4.5.x", "1.2.3.4.7fffffffffffffff"}) {
    EXPECT_FALSE(parse_cursor(bad).has_value()) << bad;
  }
}

// As Redis 7 prints it.
std::string nodes_saying(const std::string& epoch, const std::string& slots) {
  return "aa 10.0.0.2:6379@16379,myself master - 0 1 9 connected 5-6 [9-<-bb]\n"
         "bb 10.0.0.1:6379@16379,host myself,master - 0 0 " +
         epoch + " connected " + slots + "\n";
}

TEST(RedisCourses, AServerIsBelievedAboutItself) {
  const std::string slots = "0-4 7 [93-<-aa] [7->-aa] [16383-<-aa] [16384-<-aa] [x-<-aa]";
  const std::optional<OwnSlots> own = own_slots_in(nodes_saying("3", slots));
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->taken_in, (std::vector<std::uint16_t>{93, 16'383}));
  EXPECT_EQ(own_slots_in("aa 10.0.0.2:6379 master - 0 1 9 connected 5-6\n"), std::nullopt);
  EXPECT_EQ(own_slots_in("ERR no"), std::nullopt);
  EXPECT_TRUE(own_slots_in("bb 10.0.0.1:1 myself")->taken_in.empty());
}

TEST(RedisCourses, ASlotThatBeginsToMoveOrCameBackMakesAnotherCourse) {
  const auto state = [](const char* epoch, const char* slots) {
    return own_slots_in(nodes_saying(epoch, slots))->state;
  };
  EXPECT_EQ(state("3", "0-4"), state("3", "0-4"));
  EXPECT_NE(state("3", "0-4"), state("4", "0-4"));
  EXPECT_NE(state("3", "0-4"), state("3", "0-4 [4->-aa]"));
  EXPECT_NE(state("3", "0-4"), state("3", "0-4 [9-<-aa]"));
}

// docs/hazards.md#h15: whatever our own clock shows, and however long answers take.
TEST(H15_RedisTime, IsTheServersAndNeverAheadOfIt) {
  ManualClock clock{Time(Duration(1'000'000))};
  ServerTime time(clock);
  Time server{Duration(5'000)};
  const auto pass = [&](Duration length) {
    clock.advance(length);
    server += length;
  };
  for (const int before : {0, 3, 300, 1, 40}) {
    const Time sent = time.own();
    pass(Duration(before));
    const Time shown = server;
    pass(Duration(before / 2));
    time.learn(sent, time.own(), shown);
    EXPECT_LE(time.now(), server);
    EXPECT_GE(time.now() + Duration(before + 2), server);
  }
}

TEST(H15_RedisTime, DoesNotStepBackWithTheServersClockButWaitsForIt) {
  ManualClock clock;
  ServerTime time(clock);
  time.learn(time.own(), time.own(), Time(Duration(100'000)));
  const Time before = time.now();
  time.learn(time.own(), time.own(), Time(Duration(40'000)));
  EXPECT_EQ(time.now(), before);
  clock.advance(Duration(50'000));
  EXPECT_EQ(time.now(), before);
  clock.advance(Duration(20'000));
  EXPECT_GT(time.now(), before);
  EXPECT_LE(time.now(), Time(Duration(110'001)));
}

}  // namespace
}  // namespace once::redis
