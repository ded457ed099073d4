// A group of commits as one statement, and what its answer says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "once/error.h"
#include "once/write.h"
#include "stores/postgres/connection.h"

namespace once::postgres {

class CommitGroup {
 public:
  // `transactions` must outlive it, and so must their writes.
  explicit CommitGroup(std::span<const Transaction> transactions);

  // `now` decides what has expired. Each wait for a row that another transaction holds takes up to
  // `patience`.
  Statement statement(const std::string& schema, Time now, Duration patience) const;

  // One for each transaction. `corrupt` if that is no answer of ours.
  std::vector<Result<CommitOutcome>> answers(const Rows& rows) const;

  // Rows that it has written, by its answers(). An erase of nothing counts, and so may a raise to
  // what the number was before.
  std::size_t rows_written(std::span<const Result<CommitOutcome>> answers) const;

 private:
  struct Place {
    std::uint32_t transaction;
    std::uint32_t write;
    std::uint32_t key;  // Which of the different keys it has, in their order.
  };
  const Write& write_at(const Place& place) const {
    return transactions_[place.transaction][place.write];
  }
  Result<CommitOutcome> failure_at(const Rows& rows, std::size_t row, const Place& place) const;

  const std::span<const Transaction> transactions_;
  std::vector<Place> places_;  // By key if all are different, otherwise as they were given.
  std::vector<const Key*> keys_;
  bool apart_ = true;  // Each key is there once.
};

}  // namespace once::postgres
