// The connections to one server, each lent to one caller at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "once/error.h"
#include "once/time.h"

namespace once {

// Of a Connection, sound() says whether it may be used again, and disturbed() whether the server
// has closed it meanwhile, or says something unasked.
// Safe to share between threads. It must outlive all of its leases.
template <class Connection>
class ConnectionPool {
 public:
  struct Options {
    std::string engine;     // For messages.
    std::size_t most;       // So many are open at once.
    Duration longest_idle;  // A firewall or proxy may have dropped one that was idle for longer,
                            // without telling either side.
  };

  // A connection for as long as this lives.
  class Lease {
   public:
    ~Lease() {
      if (connection_) pool_->give_back(std::move(connection_), age_);
    }
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }

   private:
    friend class ConnectionPool;

    Lease(ConnectionPool& pool, std::unique_ptr<Connection> connection, std::uint64_t age)
        : pool_(&pool), connection_(std::move(connection)), age_(age) {}

    ConnectionPool* pool_;
    std::unique_ptr<Connection> connection_;
    std::uint64_t age_;  // Of the pool's connections when this was one of them.
  };

  // `clock` tells how long one was idle, and must outlive the pool.
  ConnectionPool(Options options, Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // One that is idle, or that `open` makes: a Result<std::unique_ptr<Connection>>, whose error is
  // the answer. `unavailable` if all are lent out until the deadline.
  template <class Open>
  Result<Lease> lease(std::chrono::steady_clock::time_point deadline, const Open& open) {
    const Result<std::uint64_t> age = await_turn(deadline);
    if (!age) return std::unexpected(age.error());
    if (std::unique_ptr<Connection> idle = idle_one()) return Lease(*this, std::move(idle), *age);
    Result<std::unique_ptr<Connection>> opened = open();
    if (opened) return Lease(*this, std::move(*opened), *age);
    give_back(nullptr, *age);
    return std::unexpected(std::move(opened.error()));
  }

  // None of the connections that there are is used again: they lead to the wrong place.
  void retire() ONCE_EXCLUDES(mutex_) {
    std::vector<Idle> retired;  // Closed after the lock is gone.
    const Lock lock(mutex_);
    ++age_;
    retired.swap(idle_);
  }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    Time since;
  };

  // The age of connections from here on.
  Result<std::uint64_t> await_turn(std::chrono::steady_clock::time_point deadline)
      ONCE_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    while (lent_ >= options_.most) {
      if (returned_.wait_until(lock.native(), deadline) == std::cv_status::timeout &&
          lent_ >= options_.most) {
        return failure(ErrorCode::unavailable, options_.engine + ": all connections are in use");
      }
    }
    ++lent_;
    return age_;
  }

  // One that the server has closed meanwhile would make the next outcome unknown.
  std::unique_ptr<Connection> idle_one() ONCE_EXCLUDES(mutex_) {
    const Time now = clock_.now();
    const Lock lock(mutex_);
    std::erase_if(idle_,
                  [&](const Idle& idle) { return now - idle.since > options_.longest_idle; });
    while (!idle_.empty()) {
      std::unique_ptr<Connection> last = std::move(idle_.back().connection);
      idle_.pop_back();
      if (!last->disturbed()) return last;
    }
    return nullptr;
  }

  void give_back(std::unique_ptr<Connection> connection, std::uint64_t age) ONCE_EXCLUDES(mutex_) {
    const Time now = clock_.now();
    {
      const Lock lock(mutex_);
      --lent_;
      if (connection && connection->sound() && age == age_) {
        idle_.push_back({std::move(connection), now});
      }
    }
    returned_.notify_one();
  }

  const Options options_;
  Clock& clock_;

  Mutex mutex_;
  std::condition_variable returned_;
  std::size_t lent_ ONCE_GUARDED_BY(mutex_) = 0;
  std::uint64_t age_ ONCE_GUARDED_BY(mutex_) = 0;   // How often all were retired.
  std::vector<Idle> idle_ ONCE_GUARDED_BY(mutex_);  // The last was used last.
};

}  // namespace once
