// Numbers that others keep: the store's, the server's and the process's, read when they are asked
// for.
#pragma once

#include <string>

#include "metrics/registry.h"
#include "once/metered_store.h"
#include "server/server.h"

namespace once::server {

class RunningMetrics {
 public:
  // All must outlive it. Null: the store is elsewhere.
  RunningMetrics(metrics::Registry& registry, const MeteredStore* store, const Server& server,
                 std::string version);

 private:
  void write(metrics::Exposition& out) const;

  const MeteredStore* const store_;
  const Server& server_;
  const std::string version_;
  const std::string engine_;
  const double started_;                            // Seconds since 1970.
  const metrics::Registry::Collecting collecting_;  // Last: it uses all of the above.
};

// The engine's name out of what a store says of itself: "rocksdb /dir, synced" is "rocksdb".
std::string engine_of(std::string_view description);

void write_store(metrics::Exposition& out, const StoreMetrics& counted, std::string_view engine);

}  // namespace once::server
