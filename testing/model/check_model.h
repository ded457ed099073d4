// Random commands against a store, as a GoogleTest case.
#pragma once

#include <functional>
#include <memory>

#include "once/store.h"
#include "testing/manual_clock.h"

namespace once::testing {

// Runs `cases` sequences, each on the empty store that `fresh` gives and whose clock is `clock`.
// The sequences are the same every time, except where ONCE_LONG is set: then they are ten times as
// many and others in every run. A failure prints the shortest sequence found and how to repeat it.
void check_model(int cases, ManualClock& clock,
                 const std::function<std::shared_ptr<Store>()>& fresh);

}  // namespace once::testing
