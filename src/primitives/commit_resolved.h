// How plans try again.
#pragma once

#include <cstddef>
#include <span>
#include <variant>

#include "base/backoff.h"
#include "once/plan.h"

namespace once {

// Waits before a retry (they count from 0), for a random while whose bound doubles with each.
Plan<std::monostate> back_off(int retry, PauseBounds bounds = {});

// The rest is for commits whose own success makes their guards fail: unchanged(), or absent() on a
// key that nobody frees within kAttemptLife. Such a commit cannot take effect twice, so after a
// lost reply it is looked for and sent again until its outcome is known.

// Commits `write` and resolves an unknown outcome. Lost may then mean that ours was written and
// replaced since: only the current value tells.
Plan<CommitOutcome> commit_resolved(Write& write);

// The outcome is to be resolved: the same as commit_resolved(), for a plan that commits by itself.
bool is_unknown(const Result<CommitOutcome>& outcome);

// The same for a write that was sent before, with an unknown outcome.
Plan<CommitOutcome> resolve_commit(Write& write);

// The same for several writes. `proof` is the index of a put whose item stays as written for
// kAttemptLife: it shows whether the commit happened. Nothing is sent after `until`: the answer is
// then `unknown`, or `unavailable` if nothing was sent at all.
Plan<CommitOutcome> commit_resolved(std::span<Write> writes, std::size_t proof, Time until);

// The same for writes that were sent before, with an unknown outcome. If another guard than the
// proof's is lost, what was sent before may still be written for as long as that guard can hold.
Plan<CommitOutcome> resolve_commit(std::span<Write> writes, std::size_t proof, Time until);

}  // namespace once
