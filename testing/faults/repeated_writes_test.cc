// A gateway that loses a reply sends the write again and passes on the second answer, which is
// often a refusal of our own (docs/hazards.md#h33). Every write of every primitive meets that here.
#include <gtest/gtest.h>

#include <atomic>

#include "once/local.h"
#include "testing/faults/faulty_way.h"
#include "testing/stores/chosen_store.h"

namespace once::testing {
namespace {

class RepeatedWrites : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = way_.open();
    way_.set(WriteFault::repeat);
  }

  FaultyWay way_{chosen_harness({"redis"}).serve()};
  std::unique_ptr<Store> store_;
};

template <class Answer, class Outcome>
const Answer& told(const Result<Outcome>& outcome) {
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  const Answer* const answer = outcome ? std::get_if<Answer>(&*outcome) : nullptr;
  if (answer == nullptr) throw std::runtime_error("another answer");
  return *answer;
}

TEST_F(RepeatedWrites, H33_AStoreIsOpenedAndUsedThroughIt) {
  FaultyWay new_place(chosen_harness({"redis"}).serve());
  new_place.set(WriteFault::repeat);
  const std::unique_ptr<Store> opened = new_place.open();
  told<Claimed>(LocalClaims(*opened).take("job", {}));
  way_.set(WriteFault::none);
  EXPECT_GT(new_place.met(), 0);
}

TEST_F(RepeatedWrites, H33_ANewIdIsNew) {
  LocalClaims claims(*store_);
  const std::vector<std::string> ids = {"a", "b"};
  EXPECT_EQ(claims.seen(ids, std::chrono::hours(1)).value(), (std::vector<bool>{true, true}));
  EXPECT_EQ(claims.seen(ids, std::chrono::hours(1)).value(), (std::vector<bool>{false, false}));
}

TEST_F(RepeatedWrites, H33_AClaimIsNotBusyWithItself) {
  LocalClaims claims(*store_);
  const Claimed claimed = told<Claimed>(claims.take("job", {.owner = "me"}));
  EXPECT_EQ(claimed.attempt, 1);
  told<Busy>(claims.take("job", {.owner = "another"}));
  told<Renewed>(claims.renew("job", claimed.ticket, std::chrono::seconds(30)));
  EXPECT_FALSE(told<Settled>(claims.complete("job", claimed.ticket, "result")).replayed);
  EXPECT_EQ(told<Done>(claims.take("job", {.owner = "another"})).result, "result");
}

TEST_F(RepeatedWrites, H33_AReleasedClaimIsTakenAgainWithTheNextFence) {
  LocalClaims claims(*store_);
  const Claimed first = told<Claimed>(claims.take("job", {}));
  told<Settled>(claims.release("job", first.ticket, "no", Release::retryable));
  const Claimed second = told<Claimed>(claims.take("job", {}));
  EXPECT_EQ(second.attempt, 2);
  EXPECT_GT(second.fence, first.fence);
  EXPECT_EQ(claims.forget("job").value(), true);
}

TEST_F(RepeatedWrites, H33_ABatchStandsOnce) {
  LocalLog log(*store_);
  for (const char* name : {"a", "b", "c"}) log.append("s", {{name, std::nullopt}}).value();
  log.append("s", {{"d", std::nullopt}}, {.batch = "id"}).value();
  EXPECT_TRUE(told<Appended>(log.append("s", {{"d", std::nullopt}}, {.batch = "id"})).replayed);
  const LogPage page = log.read("s").value();
  std::string read;
  for (const LogEntry& entry : page.events) read += entry.data;
  EXPECT_EQ(read, "abcd");
  EXPECT_EQ(log.trim("s", 3).value().oldest, 3);
}

TEST_F(RepeatedWrites, H33_FiveAndFiveIsTen) {
  LocalTallies tallies(*store_);
  TallyRequest five{.shape = {.kind = TallyKind::sum}, .input = std::int64_t{5}};
  const auto sum = [&] {
    told<Tallied>(tallies.merge("n", five));
    return std::get<std::int64_t>(tallies.read("n").value()->value);
  };
  EXPECT_EQ(sum(), 5);
  EXPECT_EQ(sum(), 10);
  five.id = "id";
  sum();
  EXPECT_EQ(sum(), 15);
  TallyRequest highest{.shape = {.kind = TallyKind::max}, .input = std::int64_t{7}};
  told<Tallied>(tallies.merge("m", highest));
  EXPECT_EQ(std::get<std::int64_t>(tallies.read("m").value()->value), 7);
}

// Nothing in the item shows the version of the first copy any more, so the second is told from a
// new add by the marker of its id alone.
TEST_F(RepeatedWrites, H33_AnAddWithAnIdWhoseCopyComesAfterTwoOthersCountsOnce) {
  using namespace std::chrono_literals;
  const std::unique_ptr<Store> store = way_.open(60s);
  const std::unique_ptr<Store> store_of_others = way_.open(60s);
  LocalTallies tallies(*store);
  LocalTallies of_others(*store_of_others);
  const auto add = [](LocalTallies& to, std::int64_t number, std::string id) {
    const TallyRequest request{
        .shape = {.kind = TallyKind::sum}, .input = number, .id = std::move(id)};
    return to.merge("n", request, 2min);
  };
  const auto sum = [&] { return std::get<std::int64_t>(tallies.read("n").value()->value); };
  way_.set(WriteFault::none);
  told<Tallied>(add(tallies, 1, ""));
  std::atomic<std::int64_t> from_others = 0;
  std::atomic<bool> others_are_done = false;
  way_.repeat_next([&] {
    for (int i = 0; i < 2; ++i) {
      if (add(of_others, 10, "")) from_others += 10;
    }
    others_are_done = true;
    others_are_done.notify_all();
  });
  const auto added = add(tallies, 100, "id");
  ASSERT_EQ(way_.met(), 1);
  if (way_.repeats()) others_are_done.wait(false);
  told<Tallied>(added);
  EXPECT_EQ(from_others, way_.repeats() ? 20 : 0);
  EXPECT_EQ(sum(), 101 + from_others);
  way_.set(WriteFault::none);
  EXPECT_TRUE(told<Tallied>(add(tallies, 100, "id")).replayed);
  EXPECT_EQ(sum(), 101 + from_others);
}

TEST_F(RepeatedWrites, H33_APutIsNotRefusedByItself) {
  LocalDocuments documents(*store_);
  using documents::Content;
  const auto first =
      told<documents::Updated>(documents.put("d", Content{"one"}, documents::IfAbsent{}));
  const auto second = told<documents::Updated>(
      documents.put("d", Content{"two"}, documents::IfMatch{first.document->etag}));
  EXPECT_EQ(documents.get("d").value()->content.bytes, "two");
  const auto third = told<documents::Updated>(documents.update(
      "d", {.modify = [](const std::optional<Content>& standing) -> Result<documents::Modified> {
        return Content{standing->bytes + "!"};
      }}));
  EXPECT_EQ(third.document->content.bytes, "two!");
  told<documents::PreconditionFailed>(
      documents.put("d", Content{"x"}, documents::IfMatch{second.document->etag}));
}

}  // namespace
}  // namespace once::testing
