// The connections to one database.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/connection_pool.h"
#include "base/mutex.h"
#include "kernel/unit_counter.h"
#include "once/postgres_store.h"
#include "stores/postgres/connection.h"

namespace once::postgres {

using Lease = ConnectionPool<Connection>::Lease;

// Safe to share between threads. It must outlive all of its leases.
class Pool {
 public:
  explicit Pool(PostgresOptions options);

  const PostgresOptions& options() const { return options_; }

  // `unavailable` if none is free by the deadline, or as Connection::open() says.
  Result<Lease> lease(Deadline deadline);
  // One that is free now, or can be opened.
  std::optional<Lease> lease_if_free(Deadline deadline);

  // None of the connections that there are is used again: they lead to the wrong place.
  void retire() { connections_.retire(); }

  // One statement, on any of them. Counts it.
  std::expected<Rows, Failure> run(const Statement& statement, StoreOperation operation,
                                   Deadline deadline);

  void count(StoreOperation operation) { units_.add(operation, kRequest); }
  void count_rows(std::size_t rows) {
    units_.add(StoreOperation::commit, kRow, static_cast<double>(rows));
  }
  StoreUnits units() const { return units_.rows(); }

  // What commits came to, and what that says about the server's disk.
  void note_commit() ONCE_EXCLUDES(mutex_);
  void note_full(const Error& error) ONCE_EXCLUDES(mutex_);
  Result<void> check_room() const ONCE_EXCLUDES(mutex_);

  PostgresCounts counts() const;

 private:
  static constexpr std::size_t kRequest = 0;
  static constexpr std::size_t kRow = 1;

  Result<std::unique_ptr<Connection>> open(Deadline deadline) const;

  const PostgresOptions options_;
  UnitCounter units_{"request", "row"};
  ConnectionPool<Connection> connections_;

  std::atomic<bool> is_full_ = false;  // Whether full_ has something to say.

  mutable Mutex mutex_;
  struct Full {
    Error error;
    Deadline since;
  };
  std::optional<Full> full_ ONCE_GUARDED_BY(mutex_);  // Why the last commit was refused.
};

}  // namespace once::postgres
