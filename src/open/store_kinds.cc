#include "open/store_kinds.h"

#include <algorithm>
#include <array>

namespace once {

// The build writes built_stores.inc: ONCE_STORE(name) for each once_store(name).
#define ONCE_STORE(name) StoreKind name##_kind();
#include "built_stores.inc"
#undef ONCE_STORE

std::span<const StoreKind> store_kinds() {
  static const std::array kinds = {
#define ONCE_STORE(name) name##_kind(),
#include "built_stores.inc"
#undef ONCE_STORE
  };
  return kinds;
}

const StoreKind* store_kind(std::string_view scheme) {
  const auto kinds = store_kinds();
  const auto found = std::ranges::find_if(kinds, [&](const StoreKind& kind) {
    return kind.scheme == scheme || (!scheme.empty() && kind.other_scheme == scheme);
  });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace once
