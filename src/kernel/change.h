// How changes to one key become one commit (docs/hazards.md#h18): each is answered with the group's
// final state, a change that fails affects no other, and an unknown outcome is unknown to all.
#pragma once

#include <variant>
#include <vector>

#include "once/plan.h"

namespace once::detail {

// One attempt at the changes of `members`, all of one key. Reads it once, applies each change in
// turn, commits once, and fills in every member's answer. The members must stay alive, and must not
// have another key in common. The plan itself succeeds whatever the answers are.
Plan<std::monostate> perform_changes(std::vector<ChangeStep*> members);

}  // namespace once::detail
