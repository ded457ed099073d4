// Random commands against a store, as a GoogleTest case.
#pragma once

#include <functional>
#include <memory>

#include "once/store.h"
#include "testing/manual_clock.h"

namespace once::testing {

// Runs `cases` sequences, each on an empty store from `fresh`, whose clock is `clock`. The
// sequences are the same every time. With ONCE_LONG there are ten times as many, different in every
// run. A failure prints the shortest sequence found and how to repeat it.
void check_model(int cases, ManualClock& clock,
                 const std::function<std::shared_ptr<Store>()>& fresh);

}  // namespace once::testing
