// One server and the connections to it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "once/redis_store.h"
#include "stores/redis/connection.h"
#include "stores/redis/server_time.h"

namespace once::redis {

// How a connection is opened. Safe to share between threads.
class Dialler {
 public:
  virtual ~Dialler() = default;
  virtual Result<std::unique_ptr<Channel>> dial(const Endpoint& endpoint, Deadline deadline) = 0;
};

// With TLS where the options say so. `invalid` if its certificates cannot be used.
Result<std::unique_ptr<Dialler>> make_dialler(const RedisOptions& options);

class Node;

// A connection for as long as this lives.
class Lease {
 public:
  // `age`: of the node's connections when this was one of them.
  Lease(Node& node, std::unique_ptr<Connection> connection, std::uint64_t age);
  ~Lease();
  Lease(Lease&&) = default;
  Lease& operator=(Lease&&) = delete;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Connection& operator*() const { return *connection_; }
  Connection* operator->() const { return connection_.get(); }

 private:
  Node* node_;
  std::unique_ptr<Connection> connection_;
  std::uint64_t age_;
};

// Safe to share between threads. All must outlive it, and it all of its leases.
class Node {
 public:
  Node(Endpoint endpoint, const RedisOptions& options, Dialler& dialler, ServerTime& time);

  const Endpoint& endpoint() const { return endpoint_; }

  // `unavailable` if none is free by the deadline; `denied` as the server says.
  Result<Lease> lease(Deadline deadline);

  // None of the connections that there are is used again: they lead to the wrong place.
  void retire() ONCE_EXCLUDES(mutex_);

  // Whether the last that was tried here was answered.
  bool answers() const { return answers_; }
  void note(bool answered) { answers_ = answered; }

 private:
  friend class Lease;

  struct Idle {
    std::unique_ptr<Connection> connection;
    Time since;
  };

  // The age of connections from here on; nothing if there is no turn by the deadline.
  std::optional<std::uint64_t> await_turn(Deadline deadline) ONCE_EXCLUDES(mutex_);
  std::unique_ptr<Connection> idle_one() ONCE_EXCLUDES(mutex_);
  Result<std::unique_ptr<Connection>> open(Deadline deadline);
  Result<void> greet(Connection& connection, Deadline deadline);
  void give_back(std::unique_ptr<Connection> connection, std::uint64_t age) ONCE_EXCLUDES(mutex_);

  const Endpoint endpoint_;
  const RedisOptions& options_;
  Dialler& dialler_;
  ServerTime& time_;

  Mutex mutex_;
  std::condition_variable returned_;
  std::size_t leased_ ONCE_GUARDED_BY(mutex_) = 0;
  std::uint64_t age_ ONCE_GUARDED_BY(mutex_) = 0;   // How often all were retired.
  std::vector<Idle> idle_ ONCE_GUARDED_BY(mutex_);  // The last was used last.
  std::atomic<bool> answers_ = true;
};

// What TIME answers; nothing if it is something else.
std::optional<Time> time_in(ReplyView reply);

}  // namespace once::redis
