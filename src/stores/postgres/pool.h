// The connections to one database.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kernel/unit_counter.h"
#include "once/postgres_store.h"
#include "stores/postgres/connection.h"

namespace once::postgres {

class Pool;

// A connection for as long as this lives.
class Lease {
 public:
  Lease(Pool& pool, std::unique_ptr<Connection> connection, std::uint64_t age);
  ~Lease();
  Lease(Lease&&) = default;
  Lease& operator=(Lease&&) = delete;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Connection& operator*() const { return *connection_; }
  Connection* operator->() const { return connection_.get(); }

 private:
  Pool* pool_;
  std::unique_ptr<Connection> connection_;
  std::uint64_t age_;
};

// Safe to share between threads. It must outlive all of its leases.
class Pool {
 public:
  explicit Pool(PostgresOptions options) : options_(std::move(options)) {}

  const PostgresOptions& options() const { return options_; }

  // `unavailable` if none is free by the deadline, or as Connection::open() says.
  Result<Lease> lease(Deadline deadline);
  // One that is free now, or can be opened.
  std::optional<Lease> lease_if_free(Deadline deadline);

  // None of the connections that there are is used again: they lead to the wrong place.
  void retire() ONCE_EXCLUDES(mutex_);

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
  friend class Lease;

  static constexpr std::size_t kRequest = 0;
  static constexpr std::size_t kRow = 1;

  struct Idle {
    std::unique_ptr<Connection> connection;
    Deadline since;
  };

  Result<Lease> lease_in_turn(std::uint64_t age, Deadline deadline);
  std::unique_ptr<Connection> idle_one() ONCE_EXCLUDES(mutex_);
  void give_back(std::unique_ptr<Connection> connection, std::uint64_t age) ONCE_EXCLUDES(mutex_);

  const PostgresOptions options_;
  UnitCounter units_{"request", "row"};

  std::atomic<bool> is_full_ = false;  // Whether full_ has something to say.

  mutable Mutex mutex_;
  std::condition_variable returned_;
  struct Full {
    Error error;
    Deadline since;
  };
  std::optional<Full> full_ ONCE_GUARDED_BY(mutex_);  // Why the last commit was refused.
  std::size_t leased_ ONCE_GUARDED_BY(mutex_) = 0;
  std::uint64_t age_ ONCE_GUARDED_BY(mutex_) = 0;   // How often all were retired.
  std::vector<Idle> idle_ ONCE_GUARDED_BY(mutex_);  // The last was used last.
};

}  // namespace once::postgres
