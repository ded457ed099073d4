// Updates of a document that the caller has seen.
#include "primitives/document_fixture.h"
#include "testing/code_of.h"

namespace once::documents {
namespace {

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
  const Modify overtaken = [this](const auto& standing) -> Result<Modified> {
    Documents rival(limited_, "test", clock_, entropy_);
    EXPECT_TRUE(rival.update("doc", append("r")));
    return text(standing->bytes + "b");
  };
  const auto outcome = documents_.update_if("doc", etag_now(), {overtaken, {}, {}});
  EXPECT_EQ(std::get<PreconditionFailed>(*outcome).etag, etag_now());
  EXPECT_EQ(bytes_now(), "ar");
}

// The ETag is gone and the change may not even apply any more, both by its own doing.
TEST_P(ConditionalUpdates, H19_ARepeatIsAReplayAndTheSameIdWithAnotherBodyAMismatch) {
  const std::string first = etag_now();
  const Modify once_only = [](const auto& standing) -> Result<Modified> {
    if (standing->bytes != "a") return failure(ErrorCode::invalid, "does not apply");
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
