#include "once/marked_store.h"

#include "stores/decorators/decorator_fixture.h"

namespace once::testing {
namespace {

class MarkedStoreTest : public Decorated {
 protected:
  std::unique_ptr<MarkedStore> open() {
    return mark(*faulty_, {key("mark"), Bytes("born")}, entropy_).value();
  }
  Result<CommitOutcome> put_one(Store& store) {
    return commit(store, fresh(put(key("k"), Bytes("v"), anything())));
  }
  void remove_mark() {
    EXPECT_TRUE(is_committed(commit(*memory_, erase(key("mark"), anything()))));
  }

  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*memory_, {}, clock_);
};

TEST_F(MarkedStoreTest, AStoreIsMarkedOnceAndEveryProcessFindsTheSame) {
  const auto first = open();
  const auto second = open();
  EXPECT_TRUE(current(key("mark")).has_value());
  for (MarkedStore* store : {first.get(), second.get()}) {
    store->look();
    EXPECT_TRUE(store->check_same().has_value());
    EXPECT_TRUE(is_committed(put_one(*store)));
  }
}

TEST_F(MarkedStoreTest, H41_AStoreThatWasEmptiedIsNotWrittenToUntilItIsOpenedAgain) {
  const auto store = open();
  remove_mark();
  store->look();
  EXPECT_EQ(error_of(put_one(*store)), ErrorCode::unavailable);
  const Write write = fresh(put(key("k"), Bytes("v"), anything()));
  const std::vector<Transaction> group = {{&write, 1}, {&write, 1}};
  for (const auto& answer : store->commit_each(group)) {
    EXPECT_EQ(error_of(answer), ErrorCode::unavailable);
  }
  EXPECT_EQ(current(key("k")), std::nullopt);
  EXPECT_NE(store->check_same().error().message.find("emptied"), std::string::npos);
  const auto again = open();
  EXPECT_TRUE(is_committed(put_one(*again)));
}

TEST_F(MarkedStoreTest, H41_AnotherStoreAtTheSamePlaceIsRefused) {
  const auto store = open();
  remove_mark();
  const auto other = open();
  store->look();
  EXPECT_EQ(error_of(put_one(*store)), ErrorCode::unavailable);
  other->look();
  EXPECT_TRUE(is_committed(put_one(*other)));
}

TEST_F(MarkedStoreTest, AStoreThatDoesNotAnswerIsNotTakenForAnother) {
  const auto store = open();
  const std::vector<Fault> script = {Fault::fail_before};
  faulty_->script(script);
  store->look();
  EXPECT_TRUE(store->check_same().has_value());
}

TEST_F(MarkedStoreTest, ALostAnswerToTheMarkIsLookedUp) {
  const std::vector<Fault> script = {Fault::none, Fault::fail_after};
  faulty_->script(script);
  const auto store = open();
  store->look();
  EXPECT_TRUE(store->check_same().has_value());
}

}  // namespace
}  // namespace once::testing
