#include <cstdlib>
#include <stdexcept>

#include "once/dynamodb_store.h"
#include "testing/conformance/embedded_subject.h"
#include "testing/conformance/store_conformance.h"
#include "testing/servers/dynamodb_tables.h"

namespace once::testing {
namespace {

// A table of its own for each case. Time is the suite's: DynamoDB's own removal of expired items is
// nothing that the store relies on.
class DynamoDbSubject final : public Subject {
 public:
  DynamoDbSubject() : embedded_([this](Clock& clock) { return open(clock); }) {}

  Store& store() override { return embedded_.store(); }
  // The server's clock is a little off the suite's, and now() is the server's.
  void wait_until(Time time) override {
    for (Time aim = time; store().now() < time; aim += time - store().now()) {
      embedded_.wait_until(aim);
    }
  }
  void reopen() override { embedded_.reopen(); }

 private:
  std::unique_ptr<Store> open(Clock& clock) {
    auto store = open_dynamodb(table_.options(), clock);
    if (!store) throw std::runtime_error(store.error().message);
    return std::move(*store);
  }

  DynamoDbTable table_;
  EmbeddedSubject embedded_;
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
