#include "kernel/store_kind.h"
#include "once/memory_store.h"

namespace once {

StoreKind memory_kind() {
  return {.scheme = "memory",
          .example = "memory:",
          .description = "in this process's memory, gone when it ends",
          .open = [](const Address& address, const OpenOptions&) -> Result<std::unique_ptr<Store>> {
            if (address.place.empty() && address.options.empty()) return open_memory();
            return failure(ErrorCode::invalid, "memory: takes neither a place nor options");
          }};
}

}  // namespace once
