// The hash by which stored records know the same input again.
#pragma once

#include <string_view>

#include "once/item.h"

namespace once {

// XXH3 in its canonical 128 bits: stored, so it never changes. It is fast and no protection against
// a forger.
Bytes hash128(std::string_view bytes);

}  // namespace once
