// Passes every call on unchanged; a decorator overrides what it changes.
#pragma once

#include <string>
#include <vector>

#include "once/store.h"

namespace once {

template <class Interface>
class Decorator : public Interface {
 public:
  explicit Decorator(Store& inner) : inner_(inner) {}

  const Limits& limits() const override { return inner_.limits(); }
  std::string describe() const override { return inner_.describe(); }
  std::uint64_t place(const Key& key) const override { return inner_.place(key); }
  Time now() override { return inner_.now(); }
  Result<Swept> sweep(std::size_t limit) override { return inner_.sweep(limit); }
  StoreUnits units() const override { return inner_.units(); }

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

  Store& inner_;
};

}  // namespace once
