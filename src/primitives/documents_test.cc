// get(), and put(), remove() and update_if() under a condition.
#include "primitives/document_fixture.h"
#include "primitives/keys.h"
#include "testing/code_of.h"

namespace once::documents {
namespace {

class ConditionalWrites : public DocumentsTest {};
INSTANTIATE_TEST_SUITE_P(Stores, ConditionalWrites, ::testing::Values(100, 1), name_of_store);

TEST_P(ConditionalWrites, AnAbsentDocumentIsCreatedOnceAndReadBackWhole) {
  const auto outcome = documents_.put("doc", text("one"), IfAbsent{});
  const auto read = documents_.get("doc");
  EXPECT_EQ(read->value(), *made(outcome).document);
  EXPECT_EQ(read->value().content, text("one"));
  EXPECT_EQ(read->value().etag.size(), 16U);
  const auto second = documents_.put("doc", text("two"), IfAbsent{});
  EXPECT_EQ(std::get<PreconditionFailed>(*second).etag, read->value().etag);
  EXPECT_EQ(bytes_now(), "one");
}

TEST_P(ConditionalWrites, OnlyTheEtagThatStandsMayBeReplaced) {
  ASSERT_TRUE(documents_.put("doc", text("one"), IfAbsent{}));
  const std::string first = etag_now();
  const auto second = documents_.put("doc", text("two"), IfMatch{first});
  EXPECT_EQ(made(second).document->etag, etag_now());
  EXPECT_NE(etag_now(), first);
  const auto stale = documents_.put("doc", text("three"), IfMatch{first});
  EXPECT_EQ(std::get<PreconditionFailed>(*stale).etag, etag_now());
  EXPECT_EQ(bytes_now(), "two");
}

TEST_P(ConditionalWrites, EqualBytesHaveAnotherEtag) {
  ASSERT_TRUE(documents_.put("doc", text("same"), IfAbsent{}));
  const std::string first = etag_now();
  ASSERT_TRUE(documents_.put("doc", text("same"), IfMatch{first}));
  EXPECT_NE(etag_now(), first);
}

TEST_P(ConditionalWrites, ARemovedDocumentIsAbsentAndMayBeCreatedAgain) {
  ASSERT_TRUE(documents_.put("doc", text("one"), IfAbsent{}));
  const std::string first = etag_now();
  EXPECT_FALSE(made(documents_.remove("doc", first)).document.has_value());
  EXPECT_TRUE(absent_now());
  EXPECT_EQ(std::get<PreconditionFailed>(*documents_.remove("doc", first)).etag, std::nullopt);
  EXPECT_EQ(std::get<PreconditionFailed>(*documents_.put("doc", text("x"), IfMatch{first})).etag,
            std::nullopt);
  EXPECT_TRUE(made(documents_.put("doc", text("two"), IfAbsent{})).document.has_value());
  EXPECT_EQ(bytes_now(), "two");
}

TEST_P(ConditionalWrites, AContentTypeHasNoControlCharacters) {
  for (const std::string type : {"text/html\r\nSet-Cookie: a=b", "a\nb", "\x01", "a\x7f"}) {
    EXPECT_EQ(documents_.put("doc", {"x", type}, IfAbsent{}).error().code, ErrorCode::invalid);
  }
  EXPECT_TRUE(absent_now());
}

TEST_P(ConditionalWrites, NothingIsLeftOfARemovedDocumentInTheEnd) {
  ASSERT_TRUE(documents_.put("doc", text("one"), IfAbsent{}));
  ASSERT_TRUE(documents_.remove("doc", etag_now()));
  clock_.advance(std::chrono::hours(1));
  ASSERT_TRUE(memory_->sweep(1'000));
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_P(ConditionalWrites, AnEtagThatWasNeverGivenOutMatchesNothing) {
  for (const std::string none : {"", "no-etag", "0000000000000000", "W/\"0123456789abcdef\""}) {
    EXPECT_EQ(std::get<PreconditionFailed>(*documents_.put("doc", text("x"), IfMatch{none})).etag,
              std::nullopt);
    EXPECT_EQ(std::get<PreconditionFailed>(*documents_.remove("doc", none)).etag, std::nullopt);
  }
  EXPECT_EQ(testing::items_in(*memory_), 0U);
  ASSERT_TRUE(documents_.put("doc", text("one"), IfAbsent{}));
  const auto refused = documents_.put("doc", text("x"), IfMatch{"no-etag"});
  EXPECT_EQ(std::get<PreconditionFailed>(*refused).etag, etag_now());
  EXPECT_EQ(std::get<PreconditionFailed>(*documents_.remove("doc", "no-etag")).etag, etag_now());
  EXPECT_EQ(bytes_now(), "one");
}

TEST_P(ConditionalWrites, BadInputIsRefusedAndChangesNothing) {
  const std::string long_type(kMaxContentType + 1, 't');
  EXPECT_EQ(documents_.put("doc", {"x", long_type}, IfAbsent{}).error().code, ErrorCode::invalid);
  EXPECT_EQ(documents_.put("", text("x"), IfAbsent{}).error().code, ErrorCode::invalid);
  EXPECT_EQ(documents_.put("doc", text("x"), IfAbsent{}, {"\n"}).error().code, ErrorCode::invalid);
  EXPECT_EQ(documents_.put("doc", text("x"), IfAbsent{}, {"id", Duration(1)}).error().code,
            ErrorCode::invalid);
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_P(ConditionalWrites, DamagedBytesAreCorruptAndStayAsTheyAre) {
  Write damage = once::put(document_key("test", "doc"), Bytes("nonsense"), absent());
  damage.version = entropy_.version();
  ASSERT_TRUE(memory_->commit({&damage, 1}));
  EXPECT_EQ(documents_.get("doc").error().code, ErrorCode::corrupt);
  EXPECT_EQ(documents_.put("doc", text("x"), IfAbsent{}).error().code, ErrorCode::corrupt);
  EXPECT_EQ(documents_.update("doc", append("x")).error().code, ErrorCode::corrupt);
  EXPECT_EQ(memory_->get(damage.key)->value().value, damage.value);
}

TEST_P(ConditionalWrites, H7_ALostReplyOfAPutIsFoundByItsVersion) {
  script({Fault::fail_after});
  const auto outcome = documents_.put("doc", text("one"), IfAbsent{});
  EXPECT_EQ(made(outcome).document->etag, etag_now());
}

TEST_P(ConditionalWrites, H7_APutThatIsStillOnItsWayTakesEffectOnce) {
  script({Fault::land_late, Fault::none, Fault::none});
  const auto outcome = documents_.put("doc", text("one"), IfAbsent{});
  faulty_->deliver_late();
  EXPECT_EQ(made(outcome).document->etag, etag_now());
}

TEST_P(ConditionalWrites, H7_ALostRemovalIsRecognisedAsOurs) {
  ASSERT_TRUE(documents_.put("doc", text("one"), IfAbsent{}));
  const std::string etag = etag_now();
  script(GetParam() == 1 ? std::initializer_list<Fault>{Fault::none, Fault::fail_after}
                         : std::initializer_list<Fault>{Fault::fail_after});
  EXPECT_FALSE(made(documents_.remove("doc", etag)).document.has_value());
  EXPECT_TRUE(absent_now());
}

// A rival writes between the lost reply and the read that follows.
class RivalClock final : public Clock {
 public:
  explicit RivalClock(testing::ManualClock& clock) : clock_(clock) {}
  Time now() override { return clock_.now(); }
  void sleep(Duration length) override {
    clock_.advance(length);
    if (act) std::exchange(act, nullptr)();
  }
  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock,
            Time until) override {
    clock_.wait(signal, lock, until);
  }
  std::function<void()> act;

 private:
  testing::ManualClock& clock_;
};

TEST_P(ConditionalWrites, H7_AForeignVersionIsNoProofOfLoss) {
  RivalClock clock(clock_);
  LocalDocuments hurried(*faulty_, "test", clock, entropy_);
  clock.act = [this] { ASSERT_TRUE(documents_.put("doc", text("two"), IfMatch{etag_now()})); };
  script({Fault::fail_after});
  EXPECT_EQ(hurried.put("doc", text("one"), IfAbsent{}).error().code, ErrorCode::unknown);
}

// Its answer is of its own bytes. With the rival's ETag the caller would replace what it never saw.
TEST_P(ConditionalWrites, H7_WithAnIdAnOverwrittenPutIsStillKnown) {
  RivalClock clock(clock_);
  LocalDocuments hurried(*faulty_, "test", clock, entropy_);
  clock.act = [this] { ASSERT_TRUE(documents_.put("doc", text("two"), IfMatch{etag_now()})); };
  script({Fault::fail_after});
  const auto outcome = hurried.put("doc", text("one"), IfAbsent{}, {"id"});
  EXPECT_FALSE(made(outcome).replayed);
  EXPECT_EQ(made(outcome).document->content, text("one"));
  const auto next = documents_.put("doc", text("three"), IfMatch{made(outcome).document->etag});
  EXPECT_TRUE(std::holds_alternative<PreconditionFailed>(*next));
}

TEST_P(ConditionalWrites, H19_ARepeatedPutIsAnsweredWithWhatStandsThereNow) {
  ASSERT_TRUE(documents_.put("doc", text("one"), IfAbsent{}, {"id"}));
  ASSERT_TRUE(documents_.put("doc", text("two"), IfMatch{etag_now()}));
  const auto again = documents_.put("doc", text("one"), IfAbsent{}, {"id"});
  EXPECT_TRUE(made(again).replayed);
  EXPECT_EQ(made(again).document->content, text("two"));
  EXPECT_EQ(made(again).document->etag, etag_now());
  const auto other = documents_.put("doc", text("three"), IfAbsent{}, {"id"});
  EXPECT_TRUE(std::holds_alternative<Mismatch>(*other));
}

TEST_P(ConditionalWrites, H19_ARemovalKeepsTheIdsThatCameBefore) {
  ASSERT_TRUE(documents_.put("doc", text("one"), IfAbsent{}, {"put"}));
  const std::string etag = etag_now();
  ASSERT_TRUE(documents_.remove("doc", etag, {"removal"}));
  clock_.advance(std::chrono::hours(23));
  EXPECT_TRUE(made(documents_.put("doc", text("one"), IfAbsent{}, {"put"})).replayed);
  EXPECT_TRUE(made(documents_.remove("doc", etag, {"removal"})).replayed);
  EXPECT_TRUE(absent_now());
  clock_.advance(std::chrono::hours(2));
  EXPECT_FALSE(made(documents_.put("doc", text("one"), IfAbsent{}, {"put"})).replayed);
}

TEST_P(ConditionalWrites, ANewDocumentCostsOneStoreCall) {
  ASSERT_TRUE(documents_.put("doc", text("one"), IfAbsent{}, {"id"}));
  EXPECT_EQ(calls(), 1U);
}

TEST_P(ConditionalWrites, ARefusedPutHasWrittenNothingBesides) {
  ASSERT_TRUE(documents_.put("doc", text("one"), IfAbsent{}));
  ASSERT_TRUE(documents_.put("doc", text("two"), IfAbsent{}, {"id"}));
  EXPECT_EQ(testing::items_in(*memory_), 1U);
  const auto later = documents_.put("doc", text("two"), IfMatch{etag_now()}, {"id"});
  EXPECT_FALSE(made(later).replayed);
}

// --- Updates of the document with a known ETag. ---

using testing::code_of;

class ConditionalUpdates : public DocumentsTest {
 protected:
  void SetUp() override {
    DocumentsTest::SetUp();
    ASSERT_TRUE(documents_.put("doc", text("a"), IfAbsent{}));
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, ConditionalUpdates, ::testing::Values(100, 1), name_of_store);

TEST_P(ConditionalUpdates, ApplyToTheDocumentWithTheEtagOnly) {
  const std::string first = etag_now();
  const auto outcome = documents_.update_if("doc", first, append("b"));
  EXPECT_EQ(made(outcome).document->content, text("ab"));
  EXPECT_EQ(made(outcome).document->etag, etag_now());
  const auto stale = documents_.update_if("doc", first, append("c"));
  EXPECT_EQ(std::get<PreconditionFailed>(*stale).etag, etag_now());
  const auto none = documents_.update_if("other", first, append("c"));
  EXPECT_EQ(std::get<PreconditionFailed>(*none).etag, std::nullopt);
  EXPECT_EQ(bytes_now(), "ab");
}

TEST_P(ConditionalUpdates, AreNotTriedAgainOnWhatAnotherPutThereMeanwhile) {
  const Modify overtaken = [this](const auto& current) -> Result<Modified> {
    LocalDocuments rival(limited_, "test", clock_, entropy_);
    EXPECT_TRUE(rival.update("doc", append("r")));
    return text(current->bytes + "b");
  };
  const auto outcome = documents_.update_if("doc", etag_now(), {overtaken, {}, {}});
  EXPECT_EQ(std::get<PreconditionFailed>(*outcome).etag, etag_now());
  EXPECT_EQ(bytes_now(), "ar");
}

// The ETag has changed and the change cannot be applied again, both because it was made.
TEST_P(ConditionalUpdates, H19_ARepeatIsAReplayAndTheSameIdWithAnotherBodyAMismatch) {
  const std::string first = etag_now();
  const Modify once_only = [](const auto& current) -> Result<Modified> {
    if (current->bytes != "a") return failure(ErrorCode::invalid, "does not apply");
    return text("b");
  };
  const UpdateRequest request{once_only, {"id"}, "body"};
  EXPECT_FALSE(made(documents_.update_if("doc", first, request)).replayed);
  const auto again = documents_.update_if("doc", first, request);
  EXPECT_TRUE(made(again).replayed);
  EXPECT_EQ(made(again).document->content, text("b"));
  EXPECT_TRUE(made(documents_.update_if("doc", etag_now(), request)).replayed);
  EXPECT_TRUE(made(documents_.update("doc", request)).replayed);
  const UpdateRequest other{once_only, {"id"}, "another"};
  EXPECT_TRUE(std::holds_alternative<Mismatch>(*documents_.update_if("doc", first, other)));
}

TEST_P(ConditionalUpdates, MayKeepRemoveOrFail) {
  const std::string first = etag_now();
  const Modify bad = [](const auto&) -> Result<Modified> {
    return failure(ErrorCode::invalid, "does not apply");
  };
  const Modify keep = [](const auto&) -> Result<Modified> { return Keep{}; };
  const Modify clear = [](const auto&) -> Result<Modified> { return Clear{}; };
  EXPECT_EQ(code_of(documents_.update_if("doc", first, {bad, {}, {}})), ErrorCode::invalid);
  EXPECT_EQ(made(documents_.update_if("doc", first, {keep, {}, {}})).document->etag, first);
  EXPECT_FALSE(made(documents_.update_if("doc", first, {clear, {}, {}})).document.has_value());
  EXPECT_TRUE(absent_now());
}

TEST_P(ConditionalUpdates, H7_ALostReplyIsFoundOut) {
  const std::string first = etag_now();
  if (GetParam() == 1) {
    script({Fault::none, Fault::none, Fault::fail_after});
  } else {
    script({Fault::none, Fault::fail_after});
  }
  EXPECT_FALSE(made(documents_.update_if("doc", first, append("b"))).replayed);
  EXPECT_EQ(bytes_now(), "ab");
}

}  // namespace
}  // namespace once::documents
