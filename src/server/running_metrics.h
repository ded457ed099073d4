// Metrics kept by the store, the server and the process, read at each scrape.
#pragma once

#include <string>

#include "kernel/engine_numbers.h"
#include "metrics/registry.h"
#include "once/batching_driver.h"
#include "once/metered_store.h"
#include "server/follow_hub.h"
#include "server/server.h"

namespace once::server {

class RunningMetrics {
 public:
  // All must outlive it. `store` is null if another process has it, and `driver` if none shares it.
  RunningMetrics(metrics::Registry& registry, const MeteredStore* store, const Server& server,
                 std::string version, const BatchingDriver* driver = nullptr);

 private:
  void write(metrics::Exposition& out) const;

  const MeteredStore* const store_;
  const Server& server_;
  const BatchingDriver* const driver_;
  const std::string version_;
  const std::string engine_;
  const double started_;                            // Seconds since 1970.
  const metrics::Registry::Collecting collecting_;  // Last: it uses all of the above.
};

// The engine's name in a description: "rocksdb" in "rocksdb /dir, synced".
std::string engine_of(std::string_view description);

// Calls and commits that the store answered with this error.
std::uint64_t errors_of(const StoreMetrics& counted, ErrorCode code);

void write_store(metrics::Exposition& out, const StoreMetrics& counted, std::string_view engine);
void write_engine(metrics::Exposition& out, const std::vector<EngineNumber>& numbers);
void write_followers(metrics::Exposition& out, FollowHub& hub);

}  // namespace once::server
