// A store on which the calls for some keys hang until the test lets them go; a call for several
// keys hangs if one of them does.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <set>

#include "base/mutex.h"
#include "stores/decorators/decorator.h"

namespace once::testing {

class SlowKeyStore final : public Decorator<Store> {
 public:
  SlowKeyStore(Store& inner, std::size_t calls_in_flight)
      : Decorator(inner), limits_(inner.limits()) {
    limits_.calls_in_flight = calls_in_flight;
  }
  ~SlowKeyStore() override { let_go(); }
  SlowKeyStore(const SlowKeyStore&) = delete;
  SlowKeyStore& operator=(const SlowKeyStore&) = delete;

  const Limits& limits() const override { return limits_; }

  void hang(const Key& key) {
    const Lock lock(mutex_);
    slow_.insert(key);
  }
  void let_go() {
    const Lock lock(mutex_);
    slow_.clear();
    changed_.notify_all();
  }

  // Returns when so many calls hang.
  void await_hanging(std::size_t calls) {
    Lock lock(mutex_);
    while (hanging_ < calls) changed_.wait(lock.native());
  }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    for (const Key& key : keys) pass(key);
    return inner_.get(keys);
  }
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    for (const Write& write : transaction) pass(write.key);
    return inner_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    for (const Transaction& transaction : transactions) {
      for (const Write& write : transaction) pass(write.key);
    }
    return inner_.commit_each(transactions);
  }

 private:
  void pass(const Key& key) {
    Lock lock(mutex_);
    if (!slow_.contains(key)) return;
    ++hanging_;
    changed_.notify_all();
    while (slow_.contains(key)) changed_.wait(lock.native());
    --hanging_;
  }

  Limits limits_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::set<Key> slow_ ONCE_GUARDED_BY(mutex_);
  std::size_t hanging_ ONCE_GUARDED_BY(mutex_) = 0;
};

}  // namespace once::testing
