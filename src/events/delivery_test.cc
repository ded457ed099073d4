#include "events/delivery.h"

#include <gtest/gtest.h>

#include <memory>

namespace once::events {
namespace {

EventPart event_for(const std::string& log, const std::string& claim) {
  EventWork work;
  work.route.log = log;
  work.claim = claim;
  return std::make_shared<const EventWork>(std::move(work));
}

EventPart for_log(const std::string& log) {
  static int count = 0;
  return event_for(log, std::to_string(++count));
}

// A request under way, and which of its events were started.
class Started {
 public:
  explicit Started(std::vector<EventPart> parts)
      : delivery_({true, std::move(parts)}, {}, [this](Response) { done_ = true; }) {}

  // Those that may start now, with a space after each.
  std::string next() {
    std::string started;
    while (const auto index = delivery_.next()) started += std::to_string(*index) + " ";
    return started;
  }
  std::string after(std::size_t index) {
    delivery_.answered(index, Response{});
    return next();
  }
  bool done() const { return done_; }

 private:
  bool done_ = false;
  Delivery delivery_;
};

TEST(Delivery, H44_EventsOfOneLogAreOneAtATimeInTheOrderOfTheRequest) {
  Started events({for_log("a"), for_log("a"), for_log("b"), for_log("a"), for_log("b")});
  EXPECT_EQ(events.next(), "0 2 ");
  EXPECT_EQ(events.after(0), "1 ");
  EXPECT_EQ(events.after(1), "3 ");
  EXPECT_EQ(events.after(2), "4 ");
  EXPECT_EQ(events.after(3), "");
  EXPECT_FALSE(events.done());
  EXPECT_EQ(events.after(4), "");
  EXPECT_TRUE(events.done());
}

TEST(Delivery, EventsThatAreNotLoggedGoAtOnce) {
  Started events({for_log(""), for_log(""), for_log("a"), for_log("")});
  EXPECT_EQ(events.next(), "0 1 2 3 ");
}

TEST(Delivery, ARepeatWaitsForAllOthersAndThenForTheOneBeforeItInItsLog) {
  Started events({event_for("a", "x"), event_for("", "y"), event_for("a", "x"), event_for("a", "x"),
                  event_for("", "y")});
  EXPECT_EQ(events.next(), "0 1 ");
  EXPECT_EQ(events.after(0), "");
  EXPECT_EQ(events.after(1), "2 4 ");
  EXPECT_EQ(events.after(4), "");
  EXPECT_EQ(events.after(2), "3 ");
  EXPECT_EQ(events.after(3), "");
  EXPECT_TRUE(events.done());
}

}  // namespace
}  // namespace once::events
