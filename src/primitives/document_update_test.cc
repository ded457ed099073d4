// Updates, one at a time: ids, unknown outcomes and retries.
#include <thread>

#include "primitives/document_fixture.h"
#include "primitives/document_record.h"
#include "primitives/keys.h"

namespace once::documents {
namespace {

class Updates : public DocumentsTest {
 protected:
  // Changes the document before each of the next `times` commits of an update.
  Modify overtaken(int times, std::string word) {
    return [this, left = times,
            word](const std::optional<Content>& current) mutable -> Result<Modified> {
      if (left-- > 0) rival_update();
      return text((current ? current->bytes : "") + word);
    };
  }

  void rival_update() {
    LocalDocuments rival(limited_, "test", clock_, entropy_);
    ASSERT_TRUE(rival.update("doc", append("r")));
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, Updates, ::testing::Values(100, 1), name_of_store);

TEST_P(Updates, ApplyToWhatStandsThereOrToNothing) {
  EXPECT_EQ(made(documents_.update("doc", append("a"))).document->content, text("a"));
  const auto second = documents_.update("doc", append("b"));
  EXPECT_EQ(made(second).document->content, text("ab"));
  EXPECT_EQ(made(second).document->etag, etag_now());
}

TEST_P(Updates, MayKeepOrRemoveWhatStandsThere) {
  const Modify keep = [](const auto&) -> Result<Modified> { return Keep{}; };
  const Modify clear = [](const auto&) -> Result<Modified> { return Clear{}; };
  EXPECT_TRUE(std::holds_alternative<NotFound>(*documents_.update("doc", {keep, {}, {}})));
  EXPECT_TRUE(std::holds_alternative<NotFound>(*documents_.update("doc", {clear, {}, {}})));
  EXPECT_EQ(testing::items_in(*memory_), 0U);
  ASSERT_TRUE(documents_.update("doc", append("a")));
  const std::string etag = etag_now();
  EXPECT_EQ(made(documents_.update("doc", {keep, {}, {}})).document->etag, etag);
  EXPECT_FALSE(made(documents_.update("doc", {clear, {}, {}})).document.has_value());
  EXPECT_TRUE(absent_now());
}

TEST_P(Updates, AnErrorOfTheChangeIsTheAnswerAndChangesNothing) {
  const Modify bad = [](const auto&) -> Result<Modified> {
    return failure(ErrorCode::invalid, "the patch does not apply");
  };
  EXPECT_EQ(documents_.update("doc", {bad, {"id"}, {}}).error().message,
            "the patch does not apply");
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_P(Updates, H19_ARepeatTakesNoEffectAndSaysSo) {
  EXPECT_FALSE(made(documents_.update("doc", append("a", "id"))).replayed);
  ASSERT_TRUE(documents_.update("doc", append("b")));
  const auto again = documents_.update("doc", append("a", "id"));
  EXPECT_TRUE(made(again).replayed);
  EXPECT_EQ(made(again).document->content, text("ab"));
  EXPECT_EQ(made(again).document->etag, etag_now());
  EXPECT_TRUE(std::holds_alternative<Mismatch>(*documents_.update("doc", append("c", "id"))));
  EXPECT_EQ(bytes_now(), "ab");
}

TEST_P(Updates, H19_AnIdIsForgottenAfterItsTtlAndNotBefore) {
  ASSERT_TRUE(documents_.update("doc", append("a", "id")));
  clock_.advance(std::chrono::hours(24) - Duration(1));
  EXPECT_TRUE(made(documents_.update("doc", append("a", "id"))).replayed);
  clock_.advance(Duration(1));
  EXPECT_FALSE(made(documents_.update("doc", append("a", "id"))).replayed);
  EXPECT_EQ(bytes_now(), "aa");
}

// The change cannot be applied to its own result, but its repeat is a replay and not an error.
TEST_P(Updates, H19_ARepeatIsRecognisedEvenIfTheChangeNoLongerApplies) {
  const Modify create = [](const std::optional<Content>& current) -> Result<Modified> {
    if (current) return failure(ErrorCode::invalid, "exists");
    return text("new");
  };
  EXPECT_FALSE(made(documents_.update("doc", {create, {"make"}, {}})).replayed);
  EXPECT_TRUE(made(documents_.update("doc", {create, {"make"}, {}})).replayed);
  const Modify clear = [](const auto&) -> Result<Modified> { return Clear{}; };
  EXPECT_FALSE(made(documents_.update("doc", {clear, {"end"}, {}})).replayed);
  EXPECT_TRUE(made(documents_.update("doc", {clear, {"end"}, {}})).replayed);
}

TEST_P(Updates, H19_IdsOfPutsUpdatesAndRemovalsAreOfOneKind) {
  ASSERT_TRUE(documents_.put("doc", text("a"), IfAbsent{}, {"id"}));
  EXPECT_TRUE(std::holds_alternative<Mismatch>(*documents_.update("doc", append("a", "id"))));
  EXPECT_TRUE(std::holds_alternative<Mismatch>(*documents_.remove("doc", etag_now(), {"id"})));
}

TEST_P(Updates, H7_ALostReplyIsFoundWithoutAnId) {
  ASSERT_TRUE(documents_.update("doc", append("a")));
  script({Fault::none, Fault::fail_after});
  EXPECT_EQ(made(documents_.update("doc", append("b"))).document->content, text("ab"));
  EXPECT_EQ(bytes_now(), "ab");
}

TEST_P(Updates, H7_ACommitThatIsStillOnItsWayIsNotMadeTwice) {
  for (const std::string id : {"", "id"}) {
    ASSERT_TRUE(documents_.update("doc", append(".")));
    script({Fault::none, Fault::land_late, Fault::none, Fault::none, Fault::none});
    EXPECT_FALSE(made(documents_.update("doc", append("b", id))).replayed);
    faulty_->deliver_late();
  }
  EXPECT_EQ(bytes_now(), ".b.b");
}

TEST_P(Updates, H7_WithoutAnIdAnOverwrittenChangeIsUnknown) {
  ASSERT_TRUE(documents_.update("doc", append("a")));
  const Modify meddled =
      [this, first = true](const std::optional<Content>& current) mutable -> Result<Modified> {
    if (std::exchange(first, false))
      rival_update();  // So the commit with the lost reply fails its guard.
    return text(current->bytes + "b");
  };
  script({Fault::none, Fault::fail_after});
  EXPECT_EQ(documents_.update("doc", {meddled, {}, {}}).error().code, ErrorCode::unknown);
  EXPECT_EQ(bytes_now(), "ar");
}

TEST_P(Updates, ConflictsAreRetriedUntilTheChangeIsMade) {
  ASSERT_TRUE(documents_.update("doc", append("a")));
  const auto outcome = documents_.update("doc", {overtaken(3, "b"), {}, {}});
  EXPECT_EQ(made(outcome).document->content, text("arrrb"));
}

TEST_P(Updates, WithoutAdaptingTheFourthConflictIsTheLast) {
  ASSERT_TRUE(documents_.update("doc", append("a")));
  const std::string first = etag_now();
  const Time start = clock_.now();
  const auto outcome = documents_.update("doc", {overtaken(100, "b"), {}, {}, /*adaptive=*/false});
  const Contended& contended = std::get<Contended>(*outcome);
  EXPECT_EQ(contended.name, "doc");
  EXPECT_EQ(contended.attempts, 4);
  ASSERT_EQ(contended.etags.size(), 4U);
  EXPECT_EQ(contended.etags[0], first);
  EXPECT_LE(clock_.now() - start, Duration(700));
  EXPECT_EQ(bytes_now(), "arrrr");
}

TEST_P(Updates, AdaptingGivesUpAfterTenSeconds) {
  ASSERT_TRUE(documents_.update("doc", append("a")));
  const Time start = clock_.now();
  const auto outcome = documents_.update("doc", {overtaken(100'000, "b"), {}, {}});
  EXPECT_GT(std::get<Contended>(*outcome).attempts, 4);
  EXPECT_EQ(std::get<Contended>(*outcome).etags.size(), 16U);
  EXPECT_GE(clock_.now() - start, std::chrono::seconds(10));
  EXPECT_LT(clock_.now() - start, std::chrono::seconds(12));
}

TEST_P(Updates, FromEightThreadsAreAllThere) {
  constexpr int kThreads = 8;
  constexpr int kEach = 25;
  // The pauses of all eight move the one clock, so that to each of them hours may go by.
  constexpr Duration kAmple = std::chrono::hours(1'000);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this] {
        for (int made = 0; made < kEach;) {
          const auto outcome = documents_.update("doc", append("x"), kAmple);
          ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
          if (std::holds_alternative<Updated>(*outcome)) ++made;
        }
      });
    }
  }
  EXPECT_EQ(bytes_now(), std::string(kThreads * kEach, 'x'));
}

TEST(UpdatesOnSingleWriteStores, H19_IdsBeyondTheBoundAreRefusedNotForgotten) {
  testing::ManualClock clock;
  Entropy entropy(3);
  const auto memory = open_memory({}, clock);
  testing::LimitedStore store(*memory, 1);
  LocalDocuments documents(store, "test", clock, entropy);
  for (std::size_t i = 0; i < kMaxIdsInItem; ++i) {
    ASSERT_TRUE(documents.update("doc", append("x", "id-" + std::to_string(i))));
    clock.advance(Duration(1));
  }
  const auto refused = documents.update("doc", append("x", "one more"));
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(refused.error().message.starts_with("overloaded"));
  EXPECT_TRUE(std::get<Updated>(*documents.update("doc", append("x", "id-0"))).replayed);
  EXPECT_TRUE(documents.update("doc", append("y")));
  EXPECT_EQ(documents.put("doc", text("z"), IfMatch{documents.get("doc")->value().etag}, {"new"})
                .error()
                .code,
            ErrorCode::unavailable);
  clock.advance(std::chrono::hours(24) - Duration(kMaxIdsInItem));
  EXPECT_TRUE(documents.update("doc", append("x", "one more")));
}

TEST(DocumentRecords, ComeBackAsTheyWereAndBadOnesAreCorrupt) {
  const DocumentRecord record{
      true, {5}, text(std::string("a\0b", 3)), {{"id", "hash", {6}, Time(Duration(9))}}};
  Item item{encode(record), {7}, kNever};
  EXPECT_EQ(*decode_document(item, Time()), record);
  Bytes& bytes = std::get<Bytes>(item.value);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= 1;
    EXPECT_EQ(decode_document(item, Time()).error().code, ErrorCode::corrupt) << i;
    bytes[i] ^= 1;
  }
  EXPECT_EQ(decode_document(Item{std::int64_t{1}, {7}, kNever}, Time()).error().code,
            ErrorCode::corrupt);
}

TEST(DocumentRecords, AnEtagHasOneSpelling) {
  EXPECT_EQ(version_of(etag_of({0xfedcba9876543210U})), Version{0xfedcba9876543210U});
  EXPECT_EQ(version_of("00000000000000ab"), Version{0xab});
  EXPECT_EQ(version_of("00000000000000AB"), std::nullopt);
  EXPECT_EQ(version_of("0x000000000000ab"), std::nullopt);
  EXPECT_EQ(version_of("000000000000000ab"), std::nullopt);
}

}  // namespace
}  // namespace once::documents
