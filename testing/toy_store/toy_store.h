// The smallest store that keeps every promise of once/store.h: a map and a mutex. It shows what
// adding a store takes (CONTRIBUTING.md), and is in no program but tests.
#pragma once

#include <memory>

#include "once/store.h"

namespace once::toy {

std::unique_ptr<Store> open_toy(Clock& clock = system_clock());

}  // namespace once::toy
