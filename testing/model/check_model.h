// Random commands against a store, as a GoogleTest case.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "once/store.h"

namespace once::testing {

// Runs `cases` random sequences, each on a fresh store; ten times as many where ONCE_LONG is set.
// A failure prints the shortest sequence found and the command that repeats it.
void check_model(int cases, const std::function<std::unique_ptr<Store>(Clock&)>& open);

}  // namespace once::testing
