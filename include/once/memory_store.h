// A store in this process's memory: for tests, for caches, and for data that may be lost when the
// process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "once/store.h"

namespace once {

struct MemoryOptions {
  // Bytes for items; 0 is no bound. When full, the least recently used items with an expiry are
  // evicted. Items without one never are: if only those are left, a commit that needs space is
  // `unavailable`.
  std::size_t max_bytes = 0;
};

struct MemoryUsage {
  std::size_t items = 0;      // Expired ones included until they are swept.
  std::size_t bytes = 0;      // Held for items, overhead included.
  std::uint64_t evicted = 0;  // Since the start.
};

class MemoryStore : public Store {
 public:
  virtual MemoryUsage usage() const = 0;
};

// `clock` must outlive the store.
std::unique_ptr<MemoryStore> open_memory(MemoryOptions options = {}, Clock& clock = system_clock());

}  // namespace once
