// A log on a store with faults (testing/store_under_test.h).
#pragma once

#include "once/local.h"
#include "once/log.h"
#include "primitives/log_stream.h"
#include "testing/store_under_test.h"

namespace once {

using testing::as;

class LogFixture : public testing::FaultyStoreTest {
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

  LocalLog log_{*faulty_, "default", LogStrategy::conditional, clock_, entropy_};
};

}  // namespace once
