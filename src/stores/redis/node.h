// One server and the connections to it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/connection_pool.h"
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

using Lease = ConnectionPool<Connection>::Lease;

// Safe to share between threads. All must outlive it, and it all of its leases.
class Node {
 public:
  Node(Endpoint endpoint, const RedisOptions& options, Dialler& dialler, ServerTime& time);

  const Endpoint& endpoint() const { return endpoint_; }

  // `unavailable` if none is free by the deadline; `denied` as the server says.
  Result<Lease> lease(Deadline deadline);

  // None of the connections that there are is used again: they lead to the wrong place.
  void retire() { connections_.retire(); }

  // Whether the last that was tried here was answered.
  bool answers() const { return answers_; }
  void note(bool answered) { answers_ = answered; }

 private:
  Result<std::unique_ptr<Connection>> open(Deadline deadline);
  Result<void> greet(Connection& connection, Deadline deadline);

  const Endpoint endpoint_;
  const RedisOptions& options_;
  Dialler& dialler_;
  ServerTime& time_;

  ConnectionPool<Connection> connections_;
  std::atomic<bool> answers_ = true;
};

// What TIME answers; nothing if it is something else.
std::optional<Time> time_in(ReplyView reply);

}  // namespace once::redis
