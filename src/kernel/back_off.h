// A pause between the tries of a plan.
#pragma once

#include <variant>

#include "base/backoff.h"
#include "once/plan.h"

namespace once {

// Waits before a retry (they count from 0), for a random while whose bound doubles with each.
Plan<std::monostate> back_off(int retry, PauseBounds bounds = {});

}  // namespace once
