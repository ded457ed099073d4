// How changes to one key become one commit, by the rules of H18: everyone is answered with the
// group's final state, a change that fails harms nobody else, an unknown outcome is everyone's.
#pragma once

#include <variant>
#include <vector>

#include "once/plan.h"

namespace once::detail {

// One attempt at the changes of `members`, all of one key, which must stay alive: reads it once,
// applies each change in turn, commits once, and fills in every member's answer. No key may be
// written by two of them besides the one they share. Ends well whatever the answers are.
Plan<std::monostate> perform_changes(std::vector<ChangeStep*> members);

}  // namespace once::detail
