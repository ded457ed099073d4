// Drives a server from many connections at once and measures the answers. It has one thread,
// because it shares the machine with the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/http_client.h"
#include "once/error.h"

namespace once::load {

enum class Workload : std::uint8_t { claims, seen, append, patch, tally };

struct LoadOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 7600;
  std::string authority = "127.0.0.1:7600";  // For the Host header.
  bool tls = false;
  client::ClientFiles files;  // Of TLS.
  std::string token;
  std::string name_space = "default";
  Workload workload = Workload::claims;
  unsigned clients = 50;
  unsigned batch = 1;  // Ids or events in a request.
  std::chrono::milliseconds length = std::chrono::seconds(5);
};

struct LoadReport {
  std::uint64_t requests = 0;
  std::uint64_t operations = 0;  // Requests times batch.
  std::uint64_t failed = 0;      // Answered with 4xx or 5xx.
  std::chrono::nanoseconds took{0};
  std::chrono::nanoseconds p50{0}, p90{0}, p99{0}, slowest{0};

  double per_second() const {
    return static_cast<double>(operations) / std::chrono::duration<double>(took).count();
  }
};

// `progress` is called about four times a second with the figures so far. `unavailable` if there is
// no server, or it hangs up.
Result<LoadReport> drive(const LoadOptions& options,
                         const std::function<void(const LoadReport&)>& progress);

// The bytes of the nth request of one client.
std::string request_of(const LoadOptions& options, const std::string& run, unsigned client,
                       std::uint64_t n);

}  // namespace once::load
