// The whole of it in one process, checked against a truth that is counted plainly.
#pragma once

#include <string>

#include "generate.h"
#include "once/once.h"

namespace page_stats {

// Generates a day, has it delivered at least once to racing threads, compares all windows with the
// truth and prints what happened. Whether every number is right.
once::Result<bool> tell_story(once::Once& once, const Day& day, std::size_t threads);

}  // namespace page_stats
