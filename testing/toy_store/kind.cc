#include "kernel/store_kind.h"
#include "testing/toy_store/toy_store.h"

namespace once {

StoreKind toy_kind() {
  return {.scheme = "toy",
          .example = "toy:",
          .description = "a map, gone when the process ends",
          .open = [](const Address& address, const OpenOptions&) -> Result<std::unique_ptr<Store>> {
            if (address.place.empty() && address.options.empty()) return toy::open_toy();
            return failure(ErrorCode::invalid, "toy: takes neither a place nor options");
          }};
}

}  // namespace once
