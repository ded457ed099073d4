// The process that has a side's store open, and serves it to the workers on a loopback port.
#pragma once

#include <filesystem>
#include <string>

#include "demo/child.h"
#include "demo/worker.h"

namespace once::demo {

struct StoreProcess {
  Child process;
  std::string url;
};

// On a new store in `directory`: the API for `once`, a plain table for `naive`.
Result<StoreProcess> start_store(Way way, const std::filesystem::path& directory);

}  // namespace once::demo
