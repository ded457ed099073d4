// The whole of it in one process: racing forwarders that die, deliveries that come again, and
// readers of every kind.
#pragma once

#include <cstdint>

#include "once/open.h"

namespace log_forwarder {

// Prints what happened. True if every promise was kept, which is counted and not assumed.
once::Result<bool> tell_story(once::Once& once, int deliveries, std::uint32_t seed);

}  // namespace log_forwarder
