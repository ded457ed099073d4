#include "testing/servers/redis_cluster.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <thread>

namespace once::testing {
namespace {

constexpr int kServers = 3;

std::atomic<const RedisCluster*> started_for_all = nullptr;

// The first keys of a slot; none if it is empty.
std::vector<std::string> keys_in(const RedisServer& server, int slot, int count) {
  std::istringstream said(
      server.cli("cluster getkeysinslot " + std::to_string(slot) + " " + std::to_string(count)));
  std::vector<std::string> keys;
  for (std::string key; std::getline(said, key);) {
    if (!key.empty()) keys.push_back(key);
  }
  return keys;
}

}  // namespace

RedisCluster::RedisCluster() {
  std::string all;
  for (int i = 0; i < kServers; ++i) {
    servers_.push_back(std::make_unique<RedisServer>(std::vector<std::string>{
        "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port",
        std::to_string(free_port()), "--appendonly", "no"}));
    all += " 127.0.0.1:" + std::to_string(servers_.back()->port());
  }
  servers_[0]->cli("--cluster create" + all + " --cluster-replicas 0 --cluster-yes");
  await_answer("cluster info", "cluster_state:ok");
}

const RedisCluster& RedisCluster::shared() {
  static const RedisCluster cluster;
  started_for_all = &cluster;
  return cluster;
}

const RedisCluster* RedisCluster::shared_with(std::uint16_t port) {
  const RedisCluster* const cluster = started_for_all;
  const auto has_port = [&](const auto& server) { return server->port() == port; };
  return cluster != nullptr && std::ranges::any_of(cluster->servers(), has_port) ? cluster
                                                                                 : nullptr;
}

void RedisCluster::await_answer(const std::string& command, const std::string& part) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (const auto& server : servers_) {
    for (;;) {
      const std::string said = server->cli(command);
      if (said.find(part) != std::string::npos) break;
      if (std::chrono::steady_clock::now() > deadline) {
        std::fprintf(stderr, "no %s in %s of redis-server:\n%s\n", part.c_str(), command.c_str(),
                     said.c_str());
        std::abort();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

void RedisCluster::announce(const std::vector<std::uint16_t>& ports) const {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    server(i).cli("config set cluster-announce-port " + std::to_string(ports[i]));
  }
  for (const std::uint16_t port : ports) {
    await_answer("cluster nodes", ":" + std::to_string(port) + "@");
  }
  await_answer("cluster info", "cluster_state:ok");
}

std::size_t RedisCluster::owner_of(int slot) const {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    // A server answers for its own slots, and sends elsewhere for others.
    std::istringstream nodes(server(i).cli("cluster nodes"));
    for (std::string line; std::getline(nodes, line);) {
      if (line.find("myself") == std::string::npos) continue;
      std::istringstream words(line);
      std::string word;
      for (int skip = 0; skip < 8; ++skip) words >> word;
      while (words >> word) {
        if (word.starts_with('[')) continue;
        const int first = std::atoi(word.c_str());
        const std::size_t dash = word.find('-');
        const int last = dash == std::string::npos ? first : std::atoi(word.c_str() + dash + 1);
        if (slot >= first && slot <= last) return i;
      }
    }
  }
  std::abort();
}

void RedisCluster::begin_move(int slot, std::size_t to) const {
  const std::size_t from = owner_of(slot);
  const std::string number = std::to_string(slot);
  server(to).cli("cluster setslot " + number + " importing " + id_of(from));
  server(from).cli("cluster setslot " + number + " migrating " + id_of(to));
}

std::size_t RedisCluster::move_keys(int slot, std::size_t to, int count) const {
  const RedisServer& from = server(owner_of(slot));
  const std::vector<std::string> keys = keys_in(from, slot, count);
  if (keys.empty()) return 0;
  std::string quoted;
  for (const std::string& key : keys) quoted += " '" + key + "'";
  from.cli("migrate 127.0.0.1 " + std::to_string(server(to).port()) + " \"\" 0 5000 keys " +
           quoted);
  return keys.size();
}

void RedisCluster::end_move(int slot, std::size_t to) const {
  while (move_keys(slot, to, 100) > 0) {
  }
  for (const auto& server : servers_) {
    server->cli("cluster setslot " + std::to_string(slot) + " node " + id_of(to));
  }
}

void RedisCluster::move(int slot, std::size_t to, const std::function<void()>& between) const {
  if (owner_of(slot) == to) return;
  begin_move(slot, to);
  if (move_keys(slot, to, 1) > 0 && between) between();
  end_move(slot, to);
}

}  // namespace once::testing
