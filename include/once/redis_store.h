// The store on Redis 7 or later: one server, or a cluster, shared by any number of processes and
// machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "once/entropy.h"
#include "once/store.h"

namespace once {

struct RedisOptions {
  std::string host = "127.0.0.1";  // Of a cluster: any of its masters.
  std::uint16_t port = 6379;
  std::string user;      // Empty: the server's default user.
  std::string password;  // Empty: none is sent.
  int database = 0;      // A cluster has only 0.

  bool tls = false;
  std::string ca_file;  // With tls: trusted certificates; empty: this machine's.

  // No call takes longer. What lost connections and moving slots leave open is tried again until
  // then.
  Duration timeout = std::chrono::seconds(10);

  std::size_t connections = 64;  // At most, for each server.
};

struct RedisCounts {
  std::uint64_t requests = 0;     // Commands that were sent for calls of this store.
  std::uint64_t round_trips = 0;  // Commands that were sent together count as one.
};

class RedisStore : public Store {
 public:
  // Since it was opened. What connections say first is not counted.
  virtual RedisCounts counts() const = 0;
};

// `unavailable`: nobody answers; `denied`: not with this user and password, or not all commands;
// `invalid`: a bad option; `unsupported`: an older Redis, a replica, or what a newer version of
// Once has written.
//
// A commit is one request. On a cluster all writes of a commit must have the same home; another is
// `unsupported`. describe() says in plain words when the server may lose what it has answered.
// Redis removes expired items by itself; of partitions with more than one item it removes what
// sweep() finds.
Result<std::unique_ptr<RedisStore>> open_redis(const RedisOptions& options);

// Between answers of the server, now() goes on at the pace of `clock`; what it shows does not
// matter. `clock` and `entropy` must outlive the store.
Result<std::unique_ptr<RedisStore>> open_redis(const RedisOptions& options, Clock& clock,
                                               Entropy& entropy = system_entropy());

}  // namespace once
