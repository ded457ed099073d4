// Sweeping, on this Ceph, whose DELETE ignores conditions, and on one that keeps to them: the relay
// does for it what newer servers do.
#include "stores/s3/store_fixture.h"
#include "testing/manual_clock.h"

namespace once::testing {
namespace {

class S3Sweep : public S3Fixture {
 protected:
  void SetUp() override {
    S3Fixture::SetUp();
    if (IsSkipped()) return;
    client_ = s3_client();
    reopen(place_->options().endpoint);
  }

  void reopen(const std::string& endpoint) {
    S3Options options = place_->options();
    options.endpoint = endpoint;
    store_ = open_s3(options, clock_, entropy_).value();
  }

  // A DELETE under If-Match is refused unless it holds; one request is decided about at a time.
  void keep_to_conditions() {
    relay_->decide([this](const RelayedRequest& request) -> Fault {
      const std::string etag(header_in(request.head, "If-Match"));
      if (request.method != "DELETE" || etag.empty()) return Pass{};
      if (before_delete_) std::exchange(before_delete_, nullptr)();
      const aws::Response current = s3_request(*client_, {.method = "HEAD", .path = request.path});
      if (aws::header_of(current.headers, "ETag") == "\"" + etag + "\"") return Pass{};
      return s3_refused("412 Precondition Failed", "PreconditionFailed");
    });
    reopen(relay_->url());
  }

  Version seed(const Key& at, Time expiry = kNever) {
    const Write write = fresh(put(at, Bytes("v"), absent(), expiry));
    EXPECT_TRUE(is_committed(commit(write)));
    return write.version;
  }

  // To the end of a walk.
  Swept sweep() {
    Swept all;
    for (int steps = 0; !all.finished && steps < 100; ++steps) {
      const Result<Swept> swept = store_->sweep(3);
      EXPECT_TRUE(swept.has_value()) << swept.error().message;
      if (!swept) break;
      all.examined += swept->examined;
      all.removed += swept->removed;
      all.finished = swept->finished;
    }
    return all;
  }

  // What one live item, two that are over, and an erased one leave.
  void seed_some() {
    seed(key("live"));
    seed(key("over", 1), store_->now() + Duration(10));
    seed({{std::string(2'000, 'x'), "long"}, 1}, store_->now() + Duration(10));
    const Version erased = seed(key("erased"));
    EXPECT_TRUE(is_committed(commit(erase(key("erased"), unchanged(erased)))));
    clock_.advance(std::chrono::minutes(5));
  }

  ManualClock clock_{system_clock().now()};
  std::unique_ptr<aws::Client> client_;
  std::function<void()> before_delete_;
};

TEST_F(S3Sweep, H25_NothingIsSweptWhereDeleteIgnoresConditions) {
  seed_some();
  spent();
  const Swept swept = sweep();
  EXPECT_EQ(swept.removed, 0U);
  EXPECT_TRUE(swept.finished);
  EXPECT_TRUE(read(key("live")).has_value());
  spent();
  sweep();
  EXPECT_EQ(spent().all(), 0U) << "it was found out once";
}

TEST_F(S3Sweep, H25_WhatIsOverAndWhatWasErasedIsRemovedWhereDeleteKeepsToConditions) {
  keep_to_conditions();
  seed_some();
  const Swept swept = sweep();
  EXPECT_TRUE(swept.finished);
  EXPECT_EQ(swept.examined, 4U);
  EXPECT_EQ(swept.removed, 3U);
  EXPECT_TRUE(read(key("live")).has_value());
  spent();
  ASSERT_TRUE(is_committed(commit(fresh(put(key("erased"), Bytes("w"), absent())))));
  EXPECT_EQ(spent().puts, 1U) << "nothing is left to be put over";
}

TEST_F(S3Sweep, H25_WhatWasWrittenMeanwhileStays) {
  keep_to_conditions();
  const Write over = fresh(put(key("k"), Bytes("v"), absent(), store_->now() + Duration(10)));
  ASSERT_TRUE(is_committed(commit(over)));
  EXPECT_EQ(sweep().removed, 0U);  // Nothing is over yet; and the server was tried out.
  clock_.advance(std::chrono::hours(25));
  const auto beside = open_s3(place_->options(), clock_, entropy_).value();
  before_delete_ = [&] {
    const Write again = fresh(put(key("k"), Bytes("new"), absent()));
    EXPECT_TRUE(is_committed(beside->commit({&again, 1})));
  };
  const Swept swept = sweep();
  EXPECT_EQ(before_delete_, nullptr);
  EXPECT_EQ(swept.removed, 0U);
  EXPECT_EQ(std::get<Bytes>(read(key("k"))->value), "new");
}

TEST_F(S3Sweep, ATombstoneStaysAsLongAsAnAttemptMayLive) {
  keep_to_conditions();
  const Version erased = seed(key("erased"));
  EXPECT_TRUE(is_committed(commit(erase(key("erased"), unchanged(erased)))));
  EXPECT_EQ(sweep().removed, 0U);
  clock_.advance(std::chrono::hours(25));
  EXPECT_EQ(sweep().removed, 1U);
}

TEST_F(S3Sweep, AWalkIsBegunOnceADay) {
  keep_to_conditions();
  seed(key("live"));
  EXPECT_EQ(sweep().examined, 1U);
  spent();
  EXPECT_EQ(sweep().examined, 0U);
  EXPECT_EQ(spent().all(), 0U);
  clock_.advance(std::chrono::hours(25));
  EXPECT_EQ(sweep().examined, 1U);
}

}  // namespace
}  // namespace once::testing
