#include <stdexcept>

#include "once/dynamodb_store.h"
#include "testing/conformance/store_conformance.h"
#include "testing/manual_clock.h"
#include "testing/servers/dynamodb_environment.h"
#include "testing/servers/dynamodb_tables.h"

namespace once::testing {
namespace {

// A table of its own for each case. Time is the suite's, and ahead of DynamoDB's: it removes what
// has expired by its own clock, and is to find nothing that has.
class DynamoDbSubject final : public Subject {
 public:
  DynamoDbSubject() { reopen(); }

  Store& store() override { return *store_; }
  // The server's clock is a little off the suite's, and now() is the server's.
  void wait_until(Time time) override {
    while (store().now() < time) clock_.advance(time - store().now());
  }
  void reopen() override {
    store_.reset();
    auto opened = open_dynamodb(table_.options(), clock_);
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

 private:
  ManualClock clock_{system_clock().now() + std::chrono::days(365)};
  DynamoDbTable table_;
  std::unique_ptr<Store> store_;
};

auto instances() {
  return ::testing::Values(Harness{.name = "local",
                                   .open = [] { return std::make_unique<DynamoDbSubject>(); },
                                   .tells_numbers = false,
                                   .sweeps = false});
}

INSTANTIATE_TEST_SUITE_P(dynamodb, StoreConformance, instances());
INSTANTIATE_TEST_SUITE_P(dynamodb, DurableStoreConformance, instances());

}  // namespace
}  // namespace once::testing
