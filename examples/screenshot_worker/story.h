// The whole of it in one process: five workers, a queue that delivers twice, and a worker that
// dies.
#pragma once

#include <cstdint>
#include <filesystem>

#include "once/open.h"

namespace screenshot_worker {

// Prints what happened. True if every promise was kept, which is counted and not assumed.
once::Result<bool> tell_story(once::Once& once, const std::filesystem::path& shots, int jobs,
                              std::uint32_t seed);

}  // namespace screenshot_worker
