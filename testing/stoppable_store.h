// A store that a test takes down and up again.
#pragma once

#include <atomic>
#include <cstddef>

#include "stores/decorators/decorator.h"

namespace once::testing {

class StoppableStore final : public Decorator<Store> {
 public:
  using Decorator::Decorator;

  void go_down() { down_ = true; }
  void come_up() { down_ = false; }
  std::size_t refused() const { return refused_; }  // Calls while it was down.

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    if (refuses()) return is_down();
    return inner_.get(keys);
  }
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    if (refuses()) return is_down();
    return inner_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    if (refuses()) return {transactions.size(), is_down()};
    return inner_.commit_each(transactions);
  }

 private:
  static std::unexpected<Error> is_down() {
    return failure(ErrorCode::unavailable, "the store is stopped");
  }
  bool refuses() {
    if (down_) ++refused_;
    return down_;
  }

  std::atomic<bool> down_ = false;
  std::atomic<std::size_t> refused_ = 0;
};

}  // namespace once::testing
