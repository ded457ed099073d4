#include "testing/store_under_test.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "once/memory_store.h"
#include "once/retrying_store.h"
#include "stores/decorators/decorator.h"
#ifdef ONCE_HAS_DYNAMODB
#include "stores/dynamodb/store.h"
#include "testing/servers/dynamodb_tables.h"
#endif

namespace once::testing {
namespace {

#ifdef ONCE_HAS_DYNAMODB
// The test's clock is the server's, too.
class NoOffset final : public dynamodb::Transport {
 public:
  explicit NoOffset(std::unique_ptr<dynamodb::Transport> wire) : wire_(std::move(wire)) {}

  dynamodb::Responses send(std::span<const aws::Request> requests,
                           aws::Deadline deadline) override {
    return wire_->send(requests, deadline);
  }
  Duration clock_offset() const override { return {}; }
  std::optional<Duration> clock_error() const override { return Duration{}; }
  DynamoDbCounts counts() const override { return wire_->counts(); }

 private:
  const std::unique_ptr<dynamodb::Transport> wire_;
};

class OnDynamoDb final : public Decorator<Store> {
 public:
  static std::unique_ptr<Store> open(Clock& clock) {
    const DynamoDbTable table;
    auto wire = std::make_unique<NoOffset>(dynamodb::connect(table.options()).value());
    auto attempts = std::make_unique<dynamodb::TableStore>(
        table.options().table, std::move(wire), std::chrono::seconds(10), clock, system_entropy());
    std::unique_ptr<Store> retried = retry(*attempts);
    return std::make_unique<OnDynamoDb>(std::move(attempts), std::move(retried));
  }

  OnDynamoDb(std::unique_ptr<Store> attempts, std::unique_ptr<Store> retried)
      : Decorator(*retried), attempts_(std::move(attempts)), retried_(std::move(retried)) {
    limits_.clock_error = {};
  }

  const Limits& limits() const override { return limits_; }

 private:
  const std::unique_ptr<Store> attempts_;
  const std::unique_ptr<Store> retried_;
  Limits limits_ = inner_.limits();
};
#endif

}  // namespace

std::unique_ptr<Store> store_under_test(Clock& clock) {
  const char* const named = std::getenv("ONCE_TEST_STORE");
  const std::string name = named == nullptr ? "memory" : named;
  if (name == "memory") return open_memory({}, clock);
#ifdef ONCE_HAS_DYNAMODB
  if (name == "dynamodb") return OnDynamoDb::open(clock);
#endif
  throw std::runtime_error("no store to test: " + name);
}

std::size_t items_in(Store& store) {
  std::size_t count = 0;
  ListRequest request{.limit = 1'000};
  do {
    const ListPage page = store.list(request).value();
    count += page.items.size();
    request.cursor = page.cursor;
  } while (!request.cursor.empty());
  return count;
}

}  // namespace once::testing
