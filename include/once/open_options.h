// How a store or a server is opened: see once/open.h.
#pragma once

#include <string>

#include "once/time.h"

namespace once {

struct OpenOptions {
  // How long to wait for another process that has the directory of an embedded store open.
  Duration wait_for_turn = Duration::zero();

  // How often an embedded store removes expired items by itself; zero leaves it to sweep().
  Duration sweep_every = std::chrono::minutes(5);

  // For a server that asks for one. Empty: what $ONCE_TOKEN says, if it says anything.
  std::string token;
};

}  // namespace once
