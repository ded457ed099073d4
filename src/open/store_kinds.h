// The stores that this build has, one row each, in the order in which they are listed to people.
#pragma once

#include <span>
#include <string_view>

#include "kernel/store_kind.h"

namespace once {

std::span<const StoreKind> store_kinds();

// Null if this build has no store of that scheme.
const StoreKind* store_kind(std::string_view scheme);

}  // namespace once
