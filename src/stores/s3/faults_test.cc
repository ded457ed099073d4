// Faults on real sockets, between the store and Ceph.
#include <array>
#include <atomic>
#include <thread>

#include "stores/s3/store_fixture.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

using S3Faults = S3Fixture;

TEST_F(S3Faults, ConflictsAndSlowDownsAreTriedAgainAndTakeEffectOnce) {
  script("PUT", {s3_conflict(), s3_slow_down(), s3_conflict(), Pass{}});
  EXPECT_TRUE(is_committed(commit(fresh(add(key("k"), 1)))));
  EXPECT_EQ(number_at(key("k")), 1);
  EXPECT_EQ(spent().puts, 4U);
  script("GET", {s3_slow_down(), s3_internal_error(), Cut{}, Pass{}});
  EXPECT_EQ(number_at(key("k")), 1);
}

TEST_F(S3Faults, AConflictUnderAGuardIsNoLostGuard) {
  const Write first = fresh(put(key("k"), Bytes("v"), absent()));
  script("PUT", {s3_conflict()});
  EXPECT_TRUE(is_committed(commit(first)));
  script("PUT", {s3_conflict()});
  EXPECT_TRUE(is_committed(commit(fresh(put(key("k"), Bytes("w"), unchanged(first.version))))));
}

TEST_F(S3Faults, NotFoundOnIfMatchMeansAbsent) {
  const Write first = fresh(put(key("k"), Bytes("v"), absent()));
  ASSERT_TRUE(is_committed(commit(first)));
  const auto other = open(kTimeout);
  const Write gone = erase(key("k"), anything());
  ASSERT_TRUE(other->commit({&gone, 1}).has_value());
  // As Amazon says it; this Ceph says 412.
  script("PUT", {s3_no_such_key()});
  const auto answer = commit(fresh(put(key("k"), Bytes("w"), unchanged(first.version))));
  ASSERT_TRUE(is_lost(answer));
  EXPECT_EQ(std::get<Lost>(*answer).current, std::nullopt);
  EXPECT_TRUE(is_committed(commit(fresh(put(key("k"), Bytes("w"), absent())))));
}

TEST_F(S3Faults, H8_AWriteIsSentOnceAndFoundByItsVersionWhenItsReplyIsLost) {
  for (const Fault& fault :
       std::vector<Fault>{DropReply{}, Truncate{10}, AnswerInstead{s3_internal_error()}}) {
    const std::int64_t before = number_at(key("k"));
    spent();
    script("PUT", {fault});
    const auto answer = commit(fresh(add(key("k"), 1)));
    ASSERT_TRUE(is_committed(answer)) << answer.error().message;
    EXPECT_EQ(std::get<Committed>(*answer).numbers.at(0), before + 1);
    EXPECT_EQ(spent().puts, 1U);
    EXPECT_EQ(number_at(key("k")), before + 1);
  }
}

TEST_F(S3Faults, AnAddThatNeverArrivedIsUnknownAndNotSentTwice) {
  ASSERT_TRUE(is_committed(commit(fresh(add(key("k"), 1)))));
  for (const Fault& fault : std::vector<Fault>{Cut{}, s3_internal_error()}) {
    spent();
    script("PUT", {fault});
    EXPECT_EQ(code_of(commit(fresh(add(key("k"), 1)))), ErrorCode::unknown);
    EXPECT_EQ(spent().puts, 1U);
    EXPECT_EQ(number_at(key("k")), 1);
  }
}

TEST_F(S3Faults, AGuardedWriteIsSentAgainWhereItCannotTakeEffectTwice) {
  Write first = fresh(put(key("k"), Bytes("a"), absent_lasting()));
  script("PUT", {Cut{}, DropReply{}});
  EXPECT_TRUE(is_committed(commit(first)));
  script("PUT", {Cut{}});
  EXPECT_TRUE(is_committed(commit(fresh(put(key("k"), Bytes("b"), unchanged(first.version))))));
  EXPECT_EQ(std::get<Bytes>(read(key("k"))->value), "b");
}

// Ours landed, its reply was lost, and others have overwritten it since: what each of them replaced
// tells (docs/hazards.md#h7).
TEST_F(S3Faults, H7_AWriteThatWasOverwrittenIsFoundAmongWhatWasBefore) {
  const Write first = fresh(put(key("k"), std::int64_t{0}, absent()));
  ASSERT_TRUE(is_committed(commit(first)));
  const Write ours = fresh(put(key("k"), std::int64_t{1}, unchanged(first.version)));
  // Past the relay, after ours has landed and before it is looked for.
  const auto beside = open_s3(place_->options(), system_clock(), entropy_).value();
  relay_->decide([&, lost = false, looked = false](const RelayedRequest& request) mutable -> Fault {
    if (request.method == "PUT" && !std::exchange(lost, true)) return DropReply{};
    if (request.method == "GET" && lost && !std::exchange(looked, true)) {
      for (int i = 0; i < 3; ++i) {
        const Write more = fresh(add(key("k"), 10));
        EXPECT_TRUE(beside->commit({&more, 1}).has_value());
      }
    }
    return Pass{};
  });
  EXPECT_TRUE(is_committed(commit(ours)));
  EXPECT_EQ(number_at(key("k")), 31);
}

// Ceph 16 answers 500 to whoever loses a race between its check and its write.
TEST_F(S3Faults, H7_AWriteThatCanNoLongerLandHasLost) {
  const Write first = fresh(put(key("k"), std::int64_t{0}, absent()));
  ASSERT_TRUE(is_committed(commit(first)));
  const auto beside = open_s3(place_->options(), system_clock(), entropy_).value();
  relay_->decide([&, lost = false](const RelayedRequest& request) mutable -> Fault {
    if (request.method != "PUT" || std::exchange(lost, true)) return Pass{};
    for (int i = 0; i < 3; ++i) {
      const Write more = fresh(add(key("k"), 10));
      EXPECT_TRUE(beside->commit({&more, 1}).has_value());
    }
    return s3_refused("500 Internal Server Error", "UnknownError");
  });
  const auto answer = commit(fresh(put(key("k"), std::int64_t{1}, unchanged(first.version))));
  ASSERT_TRUE(is_lost(answer));
  EXPECT_EQ(std::get<Lost>(*answer).current->value, Value(std::int64_t{30}));
  EXPECT_EQ(number_at(key("k")), 30);
}

// The gateway's copy of our write is refused after others have written: ours is in what they
// replaced.
TEST_F(S3Faults, H33_ARefusalIsNoLossIfOursIsAmongWhatWasBefore) {
  const auto beside = open_s3(place_->options(), system_clock(), entropy_).value();
  const auto others_write_after = [&](std::string_view method) {
    relay_->decide([&, method, sent = 0](const RelayedRequest& request) mutable -> Fault {
      if (sent == 0 && request.method == "PUT") {
        ++sent;
        return Repeat{};
      }
      if (sent == 1 && request.method == method) {
        ++sent;
        const Write more = fresh(add(key("k"), 10));
        EXPECT_TRUE(is_committed(beside->commit({&more, 1})));
      }
      return Pass{};
    });
  };
  others_write_after("GET");
  EXPECT_TRUE(is_committed(commit(fresh(put(key("k"), std::int64_t{1}, absent())))));
  const std::optional<Item> standing = read(key("k"));
  EXPECT_EQ(standing->value, Value(std::int64_t{11}));
  others_write_after("GET");
  EXPECT_TRUE(
      is_committed(commit(fresh(put(key("k"), std::int64_t{2}, unchanged(standing->version))))));
  EXPECT_EQ(number_at(key("k")), 12);
}

// "Nothing was written" would have the caller send it again.
TEST_F(S3Faults, H33_ARefusalThatCannotBeReadBackIsUnknown) {
  ASSERT_TRUE(is_committed(commit(fresh(add(key("k"), 5)))));
  relay_->decide([refused = false](const RelayedRequest& request) mutable -> Fault {
    if (request.method == "PUT") refused = true;
    if (request.method == "PUT") return Repeat{};
    return refused ? Fault(s3_slow_down()) : Fault(Pass{});
  });
  EXPECT_EQ(code_of(commit(fresh(add(key("k"), 5)))), ErrorCode::unknown);
  relay_->decide(nullptr);
  EXPECT_EQ(number_at(key("k")), 10);
}

TEST_F(S3Faults, H33_AnEraseIsFoundByItsMark) {
  const Write first = fresh(put(key("k"), Bytes("v"), absent()));
  ASSERT_TRUE(is_committed(commit(first)));
  script("PUT", {Repeat{}});
  EXPECT_TRUE(is_committed(commit(erase(key("k"), unchanged(first.version)))));
  EXPECT_EQ(read(key("k")), std::nullopt);
}

TEST_F(S3Faults, AServerThatStallsIsUnavailableOrUnknownInTime) {
  ASSERT_TRUE(is_committed(commit(fresh(add(key("k"), 1)))));
  store_ = open(1s);
  relay_->decide([](const RelayedRequest&) -> Fault { return StallUnsent{}; });
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of(store_->get(key("k"))), ErrorCode::unavailable);
  EXPECT_EQ(code_of(commit(fresh(put(key("k"), Bytes("v"), anything())))), ErrorCode::unknown);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 4s);
}

TEST_F(S3Faults, WhatIsDeniedIsSaidAtOnce) {
  script("PUT", {s3_refused("403 Forbidden", "AccessDenied")});
  EXPECT_EQ(code_of(commit(fresh(put(key("k"), Bytes("v"), absent())))), ErrorCode::denied);
  EXPECT_EQ(spent().puts, 1U);
}

TEST_F(S3Faults, ABucketThatIsGoneIsNoAbsentItem) {
  store_ = open(1s);
  relay_->decide(
      [](const RelayedRequest&) -> Fault { return s3_refused("404 Not Found", "NoSuchBucket"); });
  EXPECT_EQ(code_of(store_->get(key("k"))), ErrorCode::unavailable);
  EXPECT_EQ(code_of(commit(fresh(put(key("k"), Bytes("v"), absent())))), ErrorCode::unavailable);
}

// The server's own answers, and every fault in turn, while sixteen clients add and claim.
TEST_F(S3Faults, UnderManyFaultsSumsAreWhatWasAnsweredAndNoKeyHasTwoWinners) {
  Entropy chance(7);
  relay_->decide([&](const RelayedRequest& request) -> Fault {
    const std::uint64_t draw = chance.random() % 20;
    if (draw == 0) return Cut{};
    if (draw == 1) return DropReply{};
    if (draw == 2) return s3_slow_down();
    if (draw == 3 && request.method == "PUT") return s3_conflict();
    if (draw == 4) return AnswerInstead{s3_internal_error()};
    return Pass{};
  });
  constexpr std::size_t kClients = 8;
  constexpr std::size_t kRounds = 12;
  std::atomic<std::int64_t> sure = 0;
  std::atomic<std::int64_t> unsure = 0;
  std::array<std::atomic<int>, kRounds> winners = {};
  std::vector<std::jthread> clients;
  for (std::size_t client = 0; client < kClients; ++client) {
    clients.emplace_back([&] {
      for (std::size_t round = 0; round < kRounds; ++round) {
        const auto added = commit(fresh(add(key("sum"), 1)));
        if (is_committed(added)) ++sure;
        if (code_of(added) == ErrorCode::unknown) ++unsure;
        const Key prize = key("prize", static_cast<std::int64_t>(round));
        if (is_committed(commit(fresh(put(prize, Bytes("mine"), absent_lasting()))))) {
          ++winners[round];
        }
      }
    });
  }
  clients.clear();
  relay_->decide(nullptr);
  EXPECT_GE(number_at(key("sum")), sure);
  EXPECT_LE(number_at(key("sum")), sure + unsure);
  EXPECT_GT(sure, 70);
  for (const std::atomic<int>& count : winners) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace once::testing
