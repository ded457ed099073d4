// Redis's own claim, to compare ours with.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/harness.h"
#include "testing/servers/redis_server.h"

namespace once::bench {

// How many seconds Redis takes for as many SET NX by so many clients, by redis-benchmark's own
// clock: starting it is not counted. Keys and values as long as a claim's.
inline double redis_set_nx(const testing::RedisServer& server, std::size_t clients,
                           std::size_t claims) {
  const std::string line = "redis-benchmark -p " + std::to_string(server.port()) + " -c " +
                           std::to_string(clients) + " -n " + std::to_string(claims) +
                           " -r 1000000000 --csv SET 'claim/bench/__rand_int__' " +
                           std::string(100, 'v') + " NX PX 86400000 2>/dev/null";
  std::array<char, 1024> room{};
  FILE* const out = ::popen(line.c_str(), "r");
  insist(out != nullptr, "redis-benchmark");
  double rate = 0;
  while (std::fgets(room.data(), room.size(), out) != nullptr) {
    // "SET …","12345.67",…
    const std::string text = room.data();
    const std::size_t at = text.find("\",\"");
    if (text.starts_with("\"SET") && at != std::string::npos) {
      rate = std::strtod(text.c_str() + at + 3, nullptr);
    }
  }
  ::pclose(out);
  insist(rate > 0, "redis-benchmark says no rate");
  return static_cast<double>(claims) / rate;
}

}  // namespace once::bench
