// A log on a memory store behind a meter and a fault injector, with a clock that tests move.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "once/faulty_store.h"
#include "once/local.h"
#include "once/log.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "primitives/log_stream.h"
#include "testing/manual_clock.h"
#include "testing/store_under_test.h"

namespace once {

class LogFixture : public ::testing::Test {
 protected:
  static std::vector<LogEvent> events(std::initializer_list<std::string_view> data) {
    std::vector<LogEvent> all;
    for (const std::string_view bytes : data) all.push_back({Bytes(bytes), std::nullopt});
    return all;
  }

  Appended append(std::initializer_list<std::string_view> data, const AppendRequest& request = {}) {
    const Result<AppendOutcome> outcome = log_.append("s", events(data), request);
    EXPECT_TRUE(outcome && std::holds_alternative<Appended>(*outcome));
    return std::get<Appended>(outcome.value());
  }

  // Indexes and data of a page, as "2:b 3:c".
  std::string text(const LogRead& request = {}) {
    const Result<LogPage> page = log_.read("s", request);
    if (!page) return page.error().message;
    std::string all;
    for (const LogEntry& event : page->events) {
      all += (all.empty() ? "" : " ") + std::to_string(event.index) + ':' +
             (event.is_void ? "void" : event.data);
    }
    return all;
  }

  std::vector<logs::StoredRecord> records(LogStrategy strategy = LogStrategy::conditional) {
    BlockingDriver driver(*memory_, clock_, entropy_);
    const logs::Stream stream = logs::stream("default", "s", strategy);
    return driver.run(logs::read_records(stream, {.limit = 1'000})).value();
  }

  // Store calls of any kind since the last time.
  std::uint64_t calls() {
    const StoreMetrics now = metered_->snapshot();
    const std::uint64_t total = now.get.calls + now.scan.calls + now.commit.calls;
    return total - std::exchange(calls_, total);
  }

  void meet(std::initializer_list<Fault> faults) { faulty_->script(std::vector<Fault>(faults)); }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<Store> memory_ = testing::store_under_test(clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*memory_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*metered_, {}, clock_);
  LocalLog log_{*faulty_, "default", LogStrategy::conditional, clock_, entropy_};
  std::uint64_t calls_ = 0;
};

// The outcome as the kind that the test expects.
template <class T>
T outcome_as(const Result<AppendOutcome>& outcome) {
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<T>(*outcome));
  return std::get<T>(*outcome);
}

}  // namespace once
