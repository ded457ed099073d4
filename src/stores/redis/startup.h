// What is found out about a server before it is used.
#pragma once

#include "stores/redis/router.h"

namespace once::redis {

// That it is a Redis of this version or later, takes writes, and lets us use what we need; that
// what is in it was not written by a newer version of Once. For describe(): how much of what it
// answers it may lose.
Result<std::string> check_servers(Router& router, const RedisOptions& options, Deadline deadline);

// In plain words, from what INFO and CONFIG GET say; empty where nothing can be lost.
struct Keeping {
  std::string version;
  bool is_replica = false;
  bool append_only = false;
  std::string fsync;  // always, everysec, no; empty: it does not say.
  bool snapshots = false;
  bool may_evict = false;
  std::string policy;  // Of eviction.
  std::int64_t replicas = 0;
};
Keeping keeping_in(std::string_view info, ReplyView config);
std::vector<std::string> dangers_of(const Keeping& keeping, bool is_cluster);

}  // namespace once::redis
