// The C++ of docs/recipes.md does what the page says of it. What needs a queue is only compiled
// here; examples/ runs it.
#include "recipes.inc"

#include <gtest/gtest.h>

namespace {

std::vector<once::LogEvent> events(std::initializer_list<const char*> texts) {
  std::vector<once::LogEvent> all;
  for (const char* text : texts) all.push_back({text, std::nullopt});
  return all;
}

class Recipes : public ::testing::Test {
 protected:
  once::Once once_ = once::open("memory:").value();
};

TEST_F(Recipes, ADeliveryThatIsRepeatedKeepsItsIndexesAndItsIdIsNoOtherBatchs) {
  EXPECT_EQ(store_logs(once_, "abc123", events({"one", "two", "three"}), "A").value(), 3);
  EXPECT_EQ(store_logs(once_, "abc123", events({"four", "five"}), "B").value(), 5);
  EXPECT_EQ(store_logs(once_, "abc123", events({"one", "two", "three"}), "A").value(), 3);
  EXPECT_FALSE(store_logs(once_, "abc123", events({"other"}), "A").has_value());
  EXPECT_EQ(max_index(once_, "abc123").value(), 5);
}

TEST_F(Recipes, AScreenshotIsTakenOnceAndOneInProgressIsNotDone) {
  const std::string first = screenshot(once_, "shot-1");
  ASSERT_TRUE(first.starts_with("done: s3://screenshots/shot-1-")) << first;
  EXPECT_EQ(screenshot(once_, "shot-1"), "done before: " + first.substr(6));
  ASSERT_TRUE(once_.claims().take("shot-2", {}).has_value());
  EXPECT_TRUE(screenshot(once_, "shot-2").starts_with("in progress"));
}

TEST_F(Recipes, AModificationIsAppendedOnceAndOnlyToWhatIsThere) {
  using namespace once::documents;
  const auto missing = add_modification(once_, "change-7", "processed", "acme-1");
  EXPECT_TRUE(std::holds_alternative<NotFound>(missing.value()));
  ASSERT_TRUE(once_.documents().put("change-7", {"", "application/x-ndjson"}, IfAbsent{}));
  for (const bool replayed : {false, true}) {
    const auto added = add_modification(once_, "change-7", "processed", "acme-1");
    EXPECT_EQ(std::get<Updated>(added.value()).replayed, replayed);
  }
  EXPECT_EQ(once_.documents().get("change-7").value()->content.bytes, "processed\n");
}

TEST_F(Recipes, AnEventIsProcessedOnceAndByItsSourceAndId) {
  EXPECT_EQ(process_cloud_event(once_, {"/ci", "1", "build", "x"}), "processed");
  EXPECT_EQ(process_cloud_event(once_, {"/ci", "1", "build", "x"}), "skipped");
  EXPECT_EQ(process_cloud_event(once_, {"/c", "i1", "build", "y"}), "processed");
  EXPECT_EQ(process_cloud_event(once_, {"", "1", "build", "z"}), "invalid");
  EXPECT_EQ(once_.log().ends("builds")->next, 3);
}

TEST_F(Recipes, OfManyIdsTheNewOnesAreToldAndARepeatIsToldTheSame) {
  const std::vector<bool> first{true, true, false};
  EXPECT_EQ(check_and_mark(once_, {"a", "b", "a"}, "delivery-9").value(), first);
  EXPECT_EQ(check_and_mark(once_, {"a", "b", "a"}, "delivery-9").value(), first);
  EXPECT_EQ(check_and_mark(once_, {"a", "c"}, "").value(), (std::vector<bool>{false, true}));
}

TEST_F(Recipes, AViewIsAppliedOnceToAllItsTallies) {
  const once::Time now = once_.now();
  EXPECT_TRUE(apply_view(once_, "evt-1", "alice", now).value());
  EXPECT_FALSE(apply_view(once_, "evt-1", "alice", now).value());
  EXPECT_TRUE(apply_view(once_, "evt-2", "bob", now).value());
  EXPECT_FALSE(apply_view(once_, "evt-2", "carol", now).has_value());
  for (const char* tally : {"views/home", "visitors/home"}) {
    EXPECT_EQ(std::get<std::int64_t>(once_.tallies().read(tally).value()->value), 2) << tally;
  }
}

TEST_F(Recipes, AMonoidOfOnesOwnIsMergedAndItsBadStatesAreRefused) {
  const auto flags = std::make_shared<Flags>();
  const auto merge = [&](const once::Bytes& state) {
    const once::TallyShape shape{.kind = once::TallyKind::own, .own = flags};
    return once_.tallies().merge("flags", {.shape = shape, .input = state});
  };
  ASSERT_TRUE(merge(once::Bytes("\1\0\0\0\0\0\0\0", 8)));
  ASSERT_TRUE(merge(once::Bytes("\4\0\0\0\0\0\0\1", 8)));
  EXPECT_FALSE(merge("short"));
  const auto read = once_.tallies().read("flags", {}, flags);
  EXPECT_EQ(std::get<once::Bytes>(read.value()->value), once::Bytes("\5\0\0\0\0\0\0\1", 8));
}

}  // namespace
