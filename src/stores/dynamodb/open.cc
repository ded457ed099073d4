// Opening: the wire, the check that there is a table of ours at its end, and the retries.
#include <algorithm>
#include <utility>

#include "once/retrying_store.h"
#include "stores/decorators/decorator.h"
#include "stores/dynamodb/store.h"
#include "stores/dynamodb/table.h"

namespace once {
namespace {

using dynamodb::TableStore;

// One attempt takes a fifth of the time for a call; retrying_store.h adds up to two to its own
// deadline: one that began just before it, and the reading back of that.
constexpr int kShares = 5;

RetryOptions retries_within(Duration timeout) {
  return {.cap = std::chrono::seconds(1), .deadline = timeout - 2 * (timeout / kShares)};
}

class RetriedTable final : public Decorator<DynamoDbStore> {
 public:
  RetriedTable(std::unique_ptr<TableStore> table, std::unique_ptr<Store> retried,
               std::size_t connections)
      : Decorator(*retried),
        table_(std::move(table)),
        retried_(std::move(retried)),
        limits_(table_->limits()) {
    limits_.calls_in_flight = std::min(limits_.calls_in_flight, connections);
  }

  const Limits& limits() const override { return limits_; }

  DynamoDbCounts counts() const override { return table_->counts(); }

 private:
  const std::unique_ptr<TableStore> table_;
  const std::unique_ptr<Store> retried_;  // Before the table, and destroyed first.
  Limits limits_;  // A call that hangs keeps a connection, so there are no more of them.
};

Result<void> check_options(const DynamoDbOptions& options) {
  constexpr Duration kLeast = std::chrono::seconds(1);
  if (options.table.empty()) return failure(ErrorCode::invalid, "dynamodb: no table is named");
  if (options.timeout < kLeast || options.timeout > kAttemptLife) {
    return failure(ErrorCode::invalid, "dynamodb: a timeout has 1 to 60 seconds");
  }
  return {};
}

// A table of ours, and one whose time is known as well as the store promises: a slow answer tells
// it badly, and the next one better. One answer that no other source agrees with tells nothing
// (docs/hazards.md#h36).
Result<void> check_opened(dynamodb::Transport& transport, const DynamoDbOptions& options) {
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    if (Result<void> ours = dynamodb::check_format(transport, options); !ours) return ours;
    const std::optional<Duration> error = transport.server_offset().error();
    if (!error) {
      return failure(ErrorCode::unsupported,
                     "dynamodb: its answers have no Date, which leases are judged by");
    }
    if (*error <= dynamodb::kClockError && transport.server_offset().is_settled()) return {};
  }
  return failure(ErrorCode::unavailable,
                 "dynamodb: its answers take too long, or disagree, to tell the time by them");
}

}  // namespace

Result<std::unique_ptr<DynamoDbStore>> open_dynamodb(const DynamoDbOptions& options, Clock& clock,
                                                     Entropy& entropy) {
  if (Result<void> sound = check_options(options); !sound) {
    return std::unexpected(std::move(sound.error()));
  }
  auto transport = dynamodb::connect(options);
  if (!transport) return std::unexpected(std::move(transport.error()));
  if (Result<void> ours = check_opened(**transport, options); !ours) {
    return std::unexpected(std::move(ours.error()));
  }
  auto table = std::make_unique<TableStore>(options.table, std::move(*transport),
                                            options.timeout / kShares, clock, entropy);
  std::unique_ptr<Store> retried = retry(*table, retries_within(options.timeout), clock, entropy);
  return std::make_unique<RetriedTable>(std::move(table), std::move(retried), options.connections);
}

Result<void> create_dynamodb_table(const DynamoDbOptions& options) {
  if (Result<void> sound = check_options(options); !sound) return sound;
  auto transport = dynamodb::connect(options);
  if (!transport) return std::unexpected(std::move(transport.error()));
  return dynamodb::create_table(**transport, options);
}

Result<std::string> check_dynamodb_table(const DynamoDbOptions& options) {
  if (Result<void> sound = check_options(options); !sound) {
    return std::unexpected(std::move(sound.error()));
  }
  auto transport = dynamodb::connect(options);
  if (!transport) return std::unexpected(std::move(transport.error()));
  return dynamodb::describe_table(**transport, options);
}

}  // namespace once
