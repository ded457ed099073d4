// The same deliveries for two sets of workers, of which some are killed: one set reads first and
// writes later, the other claims and commits. Everything happens in child processes and in a
// temporary directory, which is removed.
#pragma once

#include <functional>
#include <variant>

#include "demo/side.h"

namespace once::demo {

struct DemoOptions {
  std::uint64_t seed = 1;
  Sizes sizes;
  std::uint32_t workers = 6;  // On each side.
};

struct SideReport {
  Tally tally;
  Audit audit;
};

struct DemoReport {
  SideReport naive;
  SideReport once;
};

struct Interrupted {
  int signal = 0;
};

// `progress` is called about ten times a second. This process must have no threads. INT, TERM and
// HUP end it early, and everything is cleaned up then, too.
using Progress = std::function<void(const Tally& naive, const Tally& once)>;
Result<std::variant<DemoReport, Interrupted>> run_demo(const DemoOptions& options,
                                                       const Progress& progress);

}  // namespace once::demo
