#include <stdexcept>

#include "once/s3_store.h"
#include "stores/s3/store.h"
#include "testing/manual_clock.h"
#include "testing/servers/s3_buckets.h"
#include "testing/stores/stores.h"

namespace once::testing {
namespace {

// A prefix of its own for each case. Time is the suite's.
class S3Subject final : public Subject {
 public:
  S3Subject() { reopen(); }

  Store& store() override { return *store_; }
  // The server's clock is a little off the suite's, and now() is the server's.
  void wait_until(Time time) override {
    while (store().now() < time) clock_.advance(time - store().now());
  }
  void reopen() override {
    store_.reset();
    auto opened = open_s3(place_.options(), clock_);
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

 private:
  ManualClock clock_{system_clock().now()};
  S3Place place_;
  std::unique_ptr<Store> store_;
};

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
           .variants = {{.name = "s3_ceph",
                         .open = [] { return std::make_unique<S3Subject>(); },
                         .durable = true,
                         .sweeps = false}},
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
