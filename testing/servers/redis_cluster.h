// Three masters of Redis as a cluster, without replicas. Takes about two seconds to start.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "testing/servers/redis_server.h"

namespace once::testing {

class RedisCluster {
 public:
  static std::optional<std::string> missing() { return RedisServer::missing(); }

  RedisCluster();

  const std::vector<std::unique_ptr<RedisServer>>& servers() const { return servers_; }
  const RedisServer& server(std::size_t i) const { return *servers_[i]; }
  std::uint16_t port() const { return servers_[0]->port(); }

  // Which of them has the slot, by their own word.
  std::size_t owner_of(int slot) const;

  // The steps of move(). Between them a slot may be left half moved. How many keys were moved.
  void begin_move(int slot, std::size_t to) const;
  std::size_t move_keys(int slot, std::size_t to, int count) const;
  void end_move(int slot, std::size_t to) const;

  // Moves a slot with all its keys to another one, as redis-cli does it: `between` runs when the
  // slot is in both and some of its keys have moved.
  void move(int slot, std::size_t to, const std::function<void()>& between = nullptr) const;

 private:
  std::string id_of(std::size_t i) const { return server(i).cli("cluster myid"); }

  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace once::testing
