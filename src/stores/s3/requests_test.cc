// What each operation costs in requests, which is what S3 is paid for.
#include "once/claims.h"
#include "once/documents.h"
#include "once/local.h"
#include "once/log.h"
#include "once/tallies.h"
#include "stores/s3/store_fixture.h"

namespace once::testing {
namespace {

using S3Requests = S3Fixture;

void expect_spent(const S3Counts& spent, std::uint64_t gets, std::uint64_t puts,
                  std::uint64_t lists = 0, std::uint64_t deletes = 0) {
  EXPECT_EQ(spent.gets, gets);
  EXPECT_EQ(spent.puts, puts);
  EXPECT_EQ(spent.lists, lists);
  EXPECT_EQ(spent.deletes, deletes);
}

TEST_F(S3Requests, OpeningAgainIsOneGet) {
  const auto again = open(kTimeout);
  expect_spent(again->counts(), 1, 0);
}

TEST_F(S3Requests, AClaimAndItsCompletionAreOnePutEachAndADuplicateIsAPutAndAGet) {
  LocalClaims claims(*store_);
  // The first claim of a process also reads the secret of the store's tickets.
  ASSERT_TRUE(claims.take("first", {.owner = "me"}).has_value());
  (void)spent();
  const auto taken = claims.take("job", {.owner = "me"});
  ASSERT_TRUE(taken && std::holds_alternative<Claimed>(*taken));
  expect_spent(spent(), 0, 1);
  const auto busy = claims.take("job", {.owner = "you"});
  ASSERT_TRUE(busy && std::holds_alternative<Busy>(*busy));
  expect_spent(spent(), 1, 1);
  const auto done = claims.complete("job", std::get<Claimed>(*taken).ticket, "result");
  ASSERT_TRUE(done && std::holds_alternative<Settled>(*done));
  expect_spent(spent(), 0, 1);
  const auto duplicate = claims.take("job", {.owner = "you"});
  ASSERT_TRUE(duplicate && std::holds_alternative<Done>(*duplicate));
  EXPECT_EQ(std::get<Done>(*duplicate).result, "result");
  expect_spent(spent(), 1, 1);
}

TEST_F(S3Requests, SeenIdsAreOnePutEach) {
  LocalClaims claims(*store_);
  // The first of a process also reads the store's secret, which says if there may be older marks.
  ASSERT_TRUE(claims.seen(std::vector<std::string>{"first"}, std::chrono::hours(1)).has_value());
  (void)spent();
  const std::vector<std::string> ids = {"a", "b", "c"};
  ASSERT_EQ(claims.seen(ids, std::chrono::hours(1)).value(), std::vector<bool>({true, true, true}));
  expect_spent(spent(), 0, 3);
}

TEST_F(S3Requests, H28_TheEndOfALogIsOneListWhateverItsLength) {
  for (const int length : {1, 40, 1'000}) {  // The last is more than a page of a list holds.
    LocalLog log(*store_);
    for (int i = 0; i < length; ++i) {
      ASSERT_TRUE(log.append("s", {{"e", std::nullopt}}).has_value());
    }
    spent();
    LocalLog stranger(*store_);
    ASSERT_TRUE(stranger.append("s", {{"e", std::nullopt}}).has_value());
    expect_spent(spent(), 1, 1, 1);  // The list, the newest batch, and ours.
    ASSERT_TRUE(stranger.append("s", {{"e", std::nullopt}}).has_value());
    expect_spent(spent(), 0, 1);
  }
}

TEST_F(S3Requests, ALogIsReadForwardByGetsOfItsBatches) {
  LocalLog log(*store_);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(log.append("s", {{"e", std::nullopt}}).has_value());
  spent();
  const auto page = log.read("s", {.from = 11, .limit = 20});
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->events.size(), 20U);
  EXPECT_EQ(page->events.front().index, 11);
  // Its life, the marks of its oldest and of its end, the batches; where to begin.
  expect_spent(spent(), 3 + 20, 0, 1);
}

TEST_F(S3Requests, H5_ABatchUnderAnIdIsItsMarkerAndItself) {
  LocalLog log(*store_);
  ASSERT_TRUE(log.append("s", {{"a", std::nullopt}}).has_value());
  spent();
  ASSERT_TRUE(log.append("s", {{"b", std::nullopt}}, {.batch = "id"}).has_value());
  EXPECT_EQ(spent().puts, 2U);
  const auto again = log.append("s", {{"b", std::nullopt}}, {.batch = "id"});
  ASSERT_TRUE(again && std::get<Appended>(*again).replayed);
  EXPECT_EQ(log.read("s")->events.size(), 2U);
}

TEST_F(S3Requests, AnUpdateOfADocumentIsAGetAndAPut) {
  LocalDocuments documents(*store_);
  const auto grow =
      [](const std::optional<documents::Content>& current) -> Result<documents::Modified> {
    return documents::Content{(current ? current->bytes : "") + "x"};
  };
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(documents.update("doc", {.modify = grow}).has_value());
    expect_spent(spent(), 1, 1);
  }
}

TEST_F(S3Requests, H19_AChangeUnderAnIdIsOneWriteWithTheIdInside) {
  LocalDocuments documents(*store_);
  const auto grow =
      [](const std::optional<documents::Content>& current) -> Result<documents::Modified> {
    return documents::Content{(current ? current->bytes : "") + "x"};
  };
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(documents.update("doc", {.modify = grow, .identity = {"change"}}).has_value());
    EXPECT_EQ(spent().puts, i == 0 ? 1U : 0U);
  }
  EXPECT_EQ(documents.get("doc").value()->content.bytes, "x");
}

TEST_F(S3Requests, AnAddIsAGetAndAPutOnceTheTallyIsKnown) {
  LocalTallies tallies(*store_);
  for (int i = 0; i < 3; ++i) {
    const auto merged =
        tallies.merge("sum", {.shape = {.kind = TallyKind::sum}, .input = std::int64_t{5}});
    ASSERT_TRUE(merged && std::holds_alternative<Tallied>(*merged));
    if (i > 0) expect_spent(spent(), 1, 1);
    spent();
  }
  EXPECT_EQ(std::get<std::int64_t>(tallies.read("sum").value()->value), 15);
}

TEST_F(S3Requests, AnEraseIsADeleteOrATombstoneUnderAGuard) {
  const Write first = fresh(put(key("k"), Bytes("v"), absent()));
  ASSERT_TRUE(is_committed(commit(first)));
  spent();
  ASSERT_TRUE(is_committed(commit(erase(key("k"), unchanged(first.version)))));
  expect_spent(spent(), 0, 1);
  EXPECT_EQ(read(key("k")), std::nullopt);
  spent();
  ASSERT_TRUE(is_committed(commit(fresh(put(key("k"), Bytes("w"), absent())))));
  expect_spent(spent(), 1, 2);  // Refused, looked at, and put over the tombstone.
  ASSERT_TRUE(is_committed(commit(erase(key("k"), anything()))));
  expect_spent(spent(), 0, 0, 0, 1);
}

}  // namespace
}  // namespace once::testing
