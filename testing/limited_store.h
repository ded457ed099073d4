// A store that declares lower limits than the one behind it, and keeps to them.
#pragma once

#include "stores/decorators/decorator.h"

namespace once::testing {

class LimitedStore final : public Decorator<Store> {
 public:
  LimitedStore(Store& inner, std::size_t writes_per_commit)
      : Decorator(inner), limits_(inner.limits()) {
    limits_.writes_per_commit = writes_per_commit;
  }

  const Limits& limits() const override { return limits_; }
  Result<Swept> sweep(std::size_t limit) override { return inner_.sweep(limit); }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    return inner_.get(keys);
  }
  Result<ScanPage> do_scan(const ScanRequest& request) override { return inner_.scan(request); }
  Result<ListPage> do_list(const ListRequest& request) override { return inner_.list(request); }
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    return inner_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    return inner_.commit_each(transactions);
  }

 private:
  Limits limits_;
};

}  // namespace once::testing
