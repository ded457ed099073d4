#include "once/s3_store.h"
#include "stores/s3/store.h"
#include "testing/servers/s3_buckets.h"
#include "testing/stores/server_subject.h"

namespace once::testing {
namespace {

// A prefix of its own for each case. Time is the suite's.
std::unique_ptr<Subject> s3_subject() {
  return std::make_unique<MovedClockSubject>(
      [place = S3Place()](Clock& clock) { return open_s3(place.options(), clock); },
      system_clock().now());
}

class BucketInTestsTime final : public s3::BucketStore {
 public:
  BucketInTestsTime(std::unique_ptr<s3::Bucket> bucket, Clock& clock)
      // Pauses are not to move the test's time.
      : BucketStore(std::move(bucket), std::chrono::seconds(10), system_clock(), system_entropy()),
        clock_(clock) {}

  Time now() override { return clock_.now(); }

 private:
  Clock& clock_;
};

class MeasuredBucket final : public MeasuredStore {
 public:
  Store& store() override { return *store_; }
  double requests() override {
    const S3Counts counts = store_->counts();
    return static_cast<double>(counts.gets + counts.puts + counts.lists + counts.deletes);
  }

 private:
  const std::unique_ptr<S3Store> store_ = open_s3(S3Place().options()).value();
};

}  // namespace

std::vector<StoreHarness> s3_harnesses() {
  return {{.name = "s3",
           // This Ceph's DELETE ignores conditions, so nothing may be swept: docs/hazards.md#h25.
           .variants = {{.name = "s3_ceph", .open = s3_subject, .durable = true, .sweeps = false}},
           .commits = StoreHarness::Commits::of_one_write,
           .is_slow = true,
           .missing = CephS3::missing,
           .open =
               [](Clock& clock) {
                 auto bucket = s3::Bucket::connect(S3Place().options()).value();
                 return retried_in_tests_time(
                     std::make_unique<BucketInTestsTime>(std::move(bucket), clock));
               },
           .serve = [] { return StoreAtAddress{S3Place().address(), nullptr}; },
           .measure = []() -> std::unique_ptr<MeasuredStore> {
             return std::make_unique<MeasuredBucket>();
           }}};
}

}  // namespace once::testing
