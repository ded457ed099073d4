#include "work/door/watch.h"

#include <gtest/gtest.h>

namespace once::work {
namespace {

TEST(Watch, CountsWhatBecameOfDeliveriesAndWhy) {
  metrics::Registry registry;
  std::string log;
  server::Journal journal({.least = server::Level::warning, .write = [&](std::string_view line) {
                             log += line;
                             return true;
                           }});
  Watch watch(registry, journal);
  Message message;
  message.id = "m1";
  const auto report = [&](Delivered what, std::string_view cause, std::string reason = "") {
    watch.delivered({message, "key", what, cause, std::move(reason), Duration(5)});
  };
  report(Delivered::handled, "handled");
  report(Delivered::handled, "handled");
  report(Delivered::duplicate, "already_done");
  report(Delivered::failed, "handler_failed", "no luck");
  report(Delivered::dead, "attempts_used_up", "no luck");
  watch.trouble({ErrorCode::unavailable, "the broker is down"});
  const std::string text = registry.text();
  for (const char* line :
       {"once_work_deliveries_total{outcome=\"handled\",reason=\"handled\"} 2",
        "once_work_deliveries_total{outcome=\"failed\",reason=\"handler_failed\"} 1",
        "once_work_deliveries_total{outcome=\"dead\",reason=\"attempts_used_up\"} 1",
        "once_work_handling_seconds_count 2", "once_work_troubles_total 1"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
  EXPECT_EQ(watch.line(3), "2 handled, 3 under way, 1 duplicates, 1 failed, 1 dead letters");
  EXPECT_NE(log.find("no luck"), std::string::npos) << log;
  EXPECT_EQ(log.find("already_done"), std::string::npos) << "only troubles, unless asked";
}

}  // namespace
}  // namespace once::work
