// Landing the writes of an append, within the life of one attempt.
#pragma once

#include <vector>

#include "once/plan.h"

namespace once::logs {

// Commits `writes`, which its own landing makes fail when sent again, until it is known what became
// of them. `witness` is the place of a put that stands where it was put for kAttemptLife: it tells
// whether a lost reply was a landing. Nothing is sent after `until`: `unknown` then, if one was.
Plan<CommitOutcome> land_all(std::vector<Write>& writes, std::size_t witness, Time until);

}  // namespace once::logs
