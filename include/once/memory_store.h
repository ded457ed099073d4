// A store in this process's memory: for tests, caches, and whatever may be forgotten when the
// process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "once/store.h"

namespace once {

struct MemoryOptions {
  // Room for items, in bytes; 0 is no bound. When full, the least recently used items that have
  // an expiry make way; items without one never do, and when only those are left a commit that
  // needs room is `unavailable`.
  std::size_t max_bytes = 0;
};

struct MemoryUsage {
  std::size_t items = 0;      // Expired ones included until they are swept.
  std::size_t bytes = 0;      // Held for items, overhead included.
  std::uint64_t evicted = 0;  // Items that made way since the start.
};

class MemoryStore : public Store {
 public:
  virtual MemoryUsage usage() const = 0;
};

// `clock` must outlive the store.
std::unique_ptr<MemoryStore> open_memory(MemoryOptions options = {}, Clock& clock = system_clock());

}  // namespace once
