#include "once/dynamodb_store.h"
#include "stores/dynamodb/store.h"
#include "testing/servers/dynamodb_tables.h"
#include "testing/stores/server_subject.h"

namespace once::testing {
namespace {

// A table of its own for each case. Time is the suite's, and ahead of DynamoDB's: DynamoDB
// removes what has expired by its own clock, which must be nothing.
std::unique_ptr<Subject> dynamodb_subject() {
  return std::make_unique<MovedClockSubject>(
      [table = DynamoDbTable()](Clock& clock) { return open_dynamodb(table.options(), clock); },
      system_clock().now() + std::chrono::days(365));
}

// The test's clock is the server's, too.
class NoClockOffset final : public dynamodb::Transport {
 public:
  explicit NoClockOffset(std::unique_ptr<dynamodb::Transport> wire) : wire_(std::move(wire)) {}

  dynamodb::Responses send(std::span<const aws::Request> requests,
                           aws::Deadline deadline) override {
    return wire_->send(requests, deadline);
  }
  const ServerOffset& server_offset() const override { return none_; }
  DynamoDbCounts counts() const override { return wire_->counts(); }
  StoreUnits units() const override { return wire_->units(); }

 private:
  const std::unique_ptr<dynamodb::Transport> wire_;
  const ServerOffset none_{Duration(1)};
};

std::unique_ptr<Store> open_new_table(Clock& clock) {
  constexpr Duration kPatience = std::chrono::seconds(10);
  const DynamoDbTable table;
  auto wire = std::make_unique<NoClockOffset>(dynamodb::connect(table.options()).value());
  return retried_in_tests_time(std::make_unique<dynamodb::TableStore>(
      table.options().table, std::move(wire), kPatience, clock, system_entropy()));
}

class MeasuredTable final : public MeasuredStore {
 public:
  Store& store() override { return *store_; }
  double requests() override { return static_cast<double>(store_->counts().requests); }
  double units() override {
    const DynamoDbCounts counts = store_->counts();
    return counts.read_units + counts.write_units;
  }

 private:
  const DynamoDbTable table_;
  const std::unique_ptr<DynamoDbStore> store_ = open_dynamodb(table_.options()).value();
};

}  // namespace

std::vector<StoreHarness> dynamodb_harnesses() {
  return {{.name = "dynamodb",
           .variants = {{.name = "dynamodb_local",
                         .open = dynamodb_subject,
                         .durable = true,
                         .tells_numbers = false,
                         .sweeps = false}},
           .is_slow = true,
           .missing = DynamoDbLocal::missing,
           .open = open_new_table,
           .serve = [] { return StoreAtAddress{DynamoDbTable().address(), nullptr}; },
           .measure = []() -> std::unique_ptr<MeasuredStore> {
             return std::make_unique<MeasuredTable>();
           }}};
}

}  // namespace once::testing
