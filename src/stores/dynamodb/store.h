// The store itself, one attempt a call; open_dynamodb() puts retries before it.
#pragma once

#include <memory>
#include <string>

#include "once/dynamodb_store.h"
#include "stores/dynamodb/transport.h"

namespace once::dynamodb {

class TableStore final : public DynamoDbStore {
 public:
  // `clock` and `entropy` must outlive it. No call takes longer than `patience`.
  TableStore(std::string table, std::unique_ptr<Transport> transport, Duration patience,
             Clock& clock, Entropy& entropy);

  const Limits& limits() const override;
  std::string describe() const override;
  Time now() override;
  Result<Swept> sweep(std::size_t limit) override;
  DynamoDbCounts counts() const override { return transport_->counts(); }
  StoreUnits units() const override { return transport_->units(); }

  Transport& transport() { return *transport_; }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override;
  Result<ScanPage> do_scan(const ScanRequest& request) override;
  Result<ListPage> do_list(const ListRequest& request) override;
  Result<CommitOutcome> do_commit(Transaction transaction) override;
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override;

 private:
  aws::Deadline deadline() const { return std::chrono::steady_clock::now() + patience_; }

  const std::string table_;
  const std::unique_ptr<Transport> transport_;
  const Duration patience_;
  Clock& clock_;
  Entropy& entropy_;
  ForwardTime time_;
};

}  // namespace once::dynamodb
