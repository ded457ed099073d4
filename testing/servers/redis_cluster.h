// Three masters of Redis as a cluster, without replicas. Takes about two seconds to start.
#pragma once

#include <cstdint>
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

  // One for the whole program, started when it is first asked for.
  static const RedisCluster& shared();
  // That one, if it is started and has a server on this port; null otherwise.
  static const RedisCluster* shared_with(std::uint16_t port);

  const std::vector<std::unique_ptr<RedisServer>>& servers() const { return servers_; }
  const RedisServer& server(std::size_t i) const { return *servers_[i]; }
  std::uint16_t port() const { return servers_[0]->port(); }

  // Makes every server tell clients, and the others, that it is at the port of the same place here
  // instead of its own. Back when all of them do.
  void announce(const std::vector<std::uint16_t>& ports) const;

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

  // Asks every server until its answer has this in it, for a minute at most.
  void await_answer(const std::string& command, const std::string& part) const;

  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace once::testing
