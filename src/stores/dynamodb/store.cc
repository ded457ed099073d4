#include "stores/dynamodb/store.h"

#include <utility>

#include "stores/dynamodb/attributes.h"
#include "stores/dynamodb/commit_attempt.h"
#include "stores/dynamodb/operation.h"
#include "stores/dynamodb/reader.h"

namespace once::dynamodb {
namespace {

constexpr std::size_t kItemBytes = 400U << 10;
constexpr std::size_t kBorderBytes = 3;  // Between home and part.

constexpr Limits kLimits = {
    .writes_per_commit = 100,
    .value_bytes = kItemBytes - kItemOverhead,
    .partition_bytes = kMaxNameBytes - kBorderBytes,
    .clock_error = kClockError,
};

}  // namespace

TableStore::TableStore(std::string table, std::unique_ptr<Transport> transport, Duration patience,
                       Clock& clock, Entropy& entropy)
    : table_(std::move(table)),
      transport_(std::move(transport)),
      patience_(patience),
      clock_(clock),
      entropy_(entropy) {}

const Limits& TableStore::limits() const { return kLimits; }

std::string TableStore::describe() const {
  std::string text = "dynamodb table ";
  return text.append(table_).append(", consistent reads, as durable as DynamoDB");
}

// Every answer corrects the offset, so it may jump back a little; now() must not
// (docs/hazards.md#h15).
Time TableStore::now() {
  const Duration::rep current =
      (clock_.now() + transport_->clock_offset()).time_since_epoch().count();
  Duration::rep last = last_now_;
  while (last < current && !last_now_.compare_exchange_weak(last, current)) {
  }
  return Time(Duration(std::max(last, current)));
}

// DynamoDB removes what has expired by itself and free of charge; a walk would be paid for.
Result<Swept> TableStore::sweep(std::size_t /*limit*/) { return Swept{.finished = true}; }

Result<std::vector<std::optional<Item>>> TableStore::do_get(std::span<const Key> keys) {
  const aws::Deadline until = deadline();
  return read_items({table_, *transport_, now(), until}, keys,
                    aws::Pauses(clock_, entropy_, until));
}

Result<ScanPage> TableStore::do_scan(const ScanRequest& request) {
  return read_scan({table_, *transport_, now(), deadline()}, request);
}

Result<ListPage> TableStore::do_list(const ListRequest& request) {
  return read_list({table_, *transport_, now(), deadline()}, request);
}

Result<CommitOutcome> TableStore::do_commit(Transaction transaction) {
  return std::move(do_commit_each({&transaction, 1}).front());
}

std::vector<Result<CommitOutcome>> TableStore::do_commit_each(
    std::span<const Transaction> transactions) {
  const aws::Deadline until = deadline();
  const aws::Route route{
      .begin =
          [this](Transaction writes) {
            return std::make_unique<CommitAttempt>(table_, writes, entropy_);
          },
      .send = [this](auto requests, auto end) { return transport_->send(requests, end); },
      .now = [this] { return now(); }};
  return aws::commit_group(route, transactions, aws::Pauses(clock_, entropy_, until), until);
}

}  // namespace once::dynamodb
