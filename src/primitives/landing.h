// Landing one write under a guard that its own success makes fail: unchanged(), or absent() on a
// key that is not freed within kAttemptLife. Such a write cannot take effect twice, so it may be
// sent again.
#pragma once

#include "once/plan.h"

namespace once {

// Commits `write`, and finds out what became of it when the outcome is unknown. Lost then means
// that something else stands there now; whether ours stood there in between only its content can
// tell.
Plan<CommitOutcome> land(Write& write);

// The same for a write that was sent already, with an unknown outcome.
Plan<CommitOutcome> land_again(Write& write);

}  // namespace once
