#include "server/status_report.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "once/faulty_store.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "testing/manual_clock.h"

namespace once::server {
namespace {

using namespace std::chrono_literals;

class StatusReports : public ::testing::Test {
 protected:
  std::function<wire::WorkerStatus()> counting() {
    return [this] {
      wire::WorkerStatus status;
      status.kind = "work";
      status.name = "jobs";
      status.done = ++asked_;
      return status;
    };
  }

  std::vector<wire::WorkerStatus> records() {
    std::vector<wire::WorkerStatus> found;
    Listing listing;
    listing.prefix = wire::kWorkerPrefix;
    const Result<documents::DocumentPage> page = documents_.list(listing);
    EXPECT_TRUE(page) << page.error().message;
    if (!page) return found;
    for (const auto& listed : page->documents) {
      const auto document = documents_.get(listed.name).value();
      if (document) found.push_back(wire::decode_worker_status(document->content.bytes).value());
    }
    return found;
  }

  // The report's thread has done what there was to do until then.
  void pass(Duration length) {
    settle();
    for (Duration left = length; left > Duration::zero(); left -= 1s) {
      clock_.advance(1s);
      settle();
    }
  }
  void settle() {
    while (!clock_.is_waited_on()) std::this_thread::yield();
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> store_ = open_memory({}, clock_);
  LocalDocuments documents_{*store_, "default", clock_, entropy_};
  std::atomic<int> asked_ = 0;
};

TEST_F(StatusReports, AreOneRecordThatIsRenewedAndEndsAfterTheProcess) {
  {
    const StatusReport report(documents_, counting(), clock_);
    pass(StatusReport::kEvery * 2 + 5s);
  }
  const auto now = records();
  ASSERT_EQ(now.size(), 1U);
  EXPECT_EQ(now[0].done, 3);
  EXPECT_EQ(now[0].kind, "work");
  EXPECT_GT(now[0].pid, 0);
  EXPECT_EQ(now[0].at - now[0].started_at, StatusReport::kEvery * 2 + 1s);
  clock_.advance(StatusReport::kKept + 1s);
  EXPECT_TRUE(records().empty());
}

TEST_F(StatusReports, TwoProcessesHaveTwo) {
  for (int i = 0; i < 2; ++i) {
    const StatusReport report(documents_, counting(), clock_);
    pass(2s);
  }
  EXPECT_EQ(records().size(), 2U);
}

TEST_F(StatusReports, OneThatEndedIsWrittenAnew) {
  const StatusReport report(documents_, counting(), clock_);
  pass(2s);
  Listing all;
  ASSERT_EQ(documents_.remove_all(all, BulkRun::wet).value().count, 1U);
  pass(StatusReport::kEvery * 3);
  EXPECT_EQ(records().size(), 1U);
}

TEST_F(StatusReports, AStoreThatIsDownIsTriedAgainAtTheNextTurn) {
  const std::unique_ptr<FaultyStore> down = inject_faults(*store_, {.fail_before = 1.0}, clock_);
  LocalDocuments behind(*down, "default", clock_, entropy_);
  const StatusReport report(behind, counting(), clock_);
  pass(StatusReport::kEvery * 3);
  EXPECT_GE(asked_, 2);
  EXPECT_TRUE(records().empty());
}

}  // namespace
}  // namespace once::server
