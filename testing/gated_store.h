// A store whose commits wait at a gate, so that a test decides what is under way at the same time.
#pragma once

#include <condition_variable>
#include <mutex>

#include "stores/decorators/decorator.h"

namespace once::testing {

class GatedStore final : public Decorator<Store> {
 public:
  using Decorator::Decorator;

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  void open() {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }

  // Returns when a commit stands before the closed gate.
  void await_visitor() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

 protected:
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    pass();
    return inner_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    pass();
    return inner_.commit_each(transactions);
  }

 private:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !closed_; });
    --waiting_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  int waiting_ = 0;
};

}  // namespace once::testing
