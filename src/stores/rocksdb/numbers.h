// What the engine of an embedded store tells of itself.
#pragma once

#include <vector>

#include "kernel/engine_numbers.h"

namespace once {

// Empty for a store of another kind.
std::vector<EngineNumber> numbers_of_rocksdb(Store& store);

}  // namespace once
