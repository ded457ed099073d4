// The whole of it in one process: customers' back ends and a front end on one change.
#pragma once

#include <cstdint>

#include "once/open.h"

namespace change_archive {

// Prints what happened. True if every promise was kept, which is counted and not assumed.
once::Result<bool> tell_story(once::Once& once, int customers, std::uint32_t seed);

}  // namespace change_archive
