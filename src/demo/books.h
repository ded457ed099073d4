// The books of a side, read back from its store.
#pragma once

#include <string>

#include "demo/audit.h"
#include "demo/worker.h"
#include "once/error.h"

namespace once::demo {

// `most_lines`: the most that were ever written. `corrupt`: a line that no worker wrote.
Result<Books> read_books(Way way, const std::string& url, std::uint32_t orders,
                         std::uint64_t most_lines);

}  // namespace once::demo
