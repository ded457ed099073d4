#include "once/marked_store.h"

#include <thread>

#include "stores/decorators/decorator.h"
#include "stores/decorators/decorator_fixture.h"

namespace once::testing {
namespace {

class MarkedStoreTest : public Decorated {
 protected:
  std::unique_ptr<MarkedStore> open() {
    Store& inner = *faulty_;
    auto opened = mark(std::make_unique<Decorator<Store>>(inner), {key("mark"), Bytes("born")},
                       clock_, entropy_);
    return std::move(opened.value());
  }
  std::unique_ptr<MarkedStore> open_and_mark() {
    auto store = open();
    EXPECT_TRUE(store->put_mark().has_value());
    return store;
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
  const auto first = open_and_mark();
  const auto second = open_and_mark();
  EXPECT_TRUE(current(key("mark")).has_value());
  for (MarkedStore* store : {first.get(), second.get()}) {
    store->look();
    EXPECT_TRUE(store->check_same().has_value());
    EXPECT_TRUE(is_committed(put_one(*store)));
  }
}

TEST_F(MarkedStoreTest, H41_AStoreThatWasEmptiedIsNotWrittenToUntilItIsOpenedAgain) {
  const auto store = open_and_mark();
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
  const auto again = open_and_mark();
  EXPECT_TRUE(is_committed(put_one(*again)));
}

TEST_F(MarkedStoreTest, H41_AnotherStoreAtTheSamePlaceIsRefused) {
  const auto store = open_and_mark();
  remove_mark();
  const auto other = open_and_mark();
  store->look();
  EXPECT_EQ(error_of(put_one(*store)), ErrorCode::unavailable);
  other->look();
  EXPECT_TRUE(is_committed(put_one(*other)));
}

TEST_F(MarkedStoreTest, AStoreThatDoesNotAnswerIsNotTakenForAnother) {
  const auto store = open_and_mark();
  const std::vector<Fault> script = {Fault::fail_before};
  faulty_->script(script);
  store->look();
  EXPECT_TRUE(store->check_same().has_value());
}

TEST_F(MarkedStoreTest, ALostAnswerToTheMarkIsLookedUp) {
  const std::vector<Fault> script = {Fault::none, Fault::fail_after};
  faulty_->script(script);
  const auto store = open_and_mark();
  store->look();
  EXPECT_TRUE(store->check_same().has_value());
}

TEST_F(MarkedStoreTest, WhoOnlyReadsWritesNoMark) {
  const auto store = open();
  EXPECT_TRUE(store->get(key("k")).has_value());
  store->look();
  EXPECT_EQ(current(key("mark")), std::nullopt);
}

TEST_F(MarkedStoreTest, H41_TheMarkIsThereBeforeTheFirstCommit) {
  const auto store = open();
  faulty_->script(std::vector<Fault>{Fault::fail_before});
  EXPECT_EQ(error_of(put_one(*store)), ErrorCode::unavailable);
  EXPECT_EQ(current(key("k")), std::nullopt);
  EXPECT_TRUE(is_committed(put_one(*store)));
  EXPECT_TRUE(current(key("mark")).has_value());
}

TEST_F(MarkedStoreTest, H41_ItIsLookedAtEverySecondAndSaidOnce) {
  const auto store = open_and_mark();
  std::atomic<int> told = 0;
  store->on_replaced([&](const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::unavailable);
    ++told;
  });
  remove_mark();
  clock_.advance(std::chrono::seconds(1));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (told == 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(error_of(put_one(*store)), ErrorCode::unavailable);
  store->look();
  EXPECT_EQ(told, 1);
}

// As long as the machine slept, nobody looked.
TEST_F(MarkedStoreTest, H41_AfterALongPauseACommitLooksFirst) {
  const auto store = open_and_mark();
  remove_mark();
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(error_of(put_one(*store)), ErrorCode::unavailable);
  EXPECT_EQ(current(key("k")), std::nullopt);
}

}  // namespace
}  // namespace once::testing
