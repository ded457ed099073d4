// Steps and answers as one line of a trace.
#pragma once

#include <string>

#include "once/plan.h"

namespace once::testing {

std::string describe(const Write& write);
std::string describe(const detail::Step& step);
std::string describe_answer(const detail::Step& step);

}  // namespace once::testing
