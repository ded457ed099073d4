#include <stdexcept>

#include "once/s3_store.h"
#include "testing/conformance/store_conformance.h"
#include "testing/manual_clock.h"
#include "testing/servers/s3_buckets.h"
#include "testing/servers/s3_environment.h"

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

// This Ceph's DELETE ignores conditions, so nothing may be swept (H25).
auto instances() {
  return ::testing::Values(Harness{
      .name = "ceph", .open = [] { return std::make_unique<S3Subject>(); }, .sweeps = false});
}

INSTANTIATE_TEST_SUITE_P(s3, StoreConformance, instances());
INSTANTIATE_TEST_SUITE_P(s3, DurableStoreConformance, instances());

}  // namespace
}  // namespace once::testing
