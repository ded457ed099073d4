// One server and the connections to it.
#pragma once

#include <condition_variable>
#include <memory>
#include <vector>

#include "kernel/mutex.h"
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
  Lease(Node& node, std::unique_ptr<Connection> connection);
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
};

// Safe to share between threads. All must outlive it, and it all of its leases.
class Node {
 public:
  Node(Endpoint endpoint, const RedisOptions& options, Dialler& dialler, ServerTime& time);

  const Endpoint& endpoint() const { return endpoint_; }

  // `unavailable` if there is none by the deadline; `denied` as the server says.
  Result<Lease> lease(Deadline deadline);

 private:
  friend class Lease;

  bool await_turn(Deadline deadline) ONCE_EXCLUDES(mutex_);
  std::unique_ptr<Connection> idle_one() ONCE_EXCLUDES(mutex_);
  Result<std::unique_ptr<Connection>> open(Deadline deadline);
  Result<void> greet(Connection& connection, Deadline deadline);
  void give_back(std::unique_ptr<Connection> connection) ONCE_EXCLUDES(mutex_);

  const Endpoint endpoint_;
  const RedisOptions& options_;
  Dialler& dialler_;
  ServerTime& time_;

  Mutex mutex_;
  std::condition_variable returned_;
  std::size_t leased_ ONCE_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Connection>> idle_ ONCE_GUARDED_BY(mutex_);
};

// What TIME answers; nothing if it is something else.
std::optional<Time> time_in(ReplyView reply);

}  // namespace once::redis
