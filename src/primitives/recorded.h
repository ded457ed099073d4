// Changes that are recorded in a log: forgetting, removing, trimming. The event is appended by the
// commit that makes the change, so that neither is there without the other. A store that cannot do
// that (one write per commit, or one home) gets the event first, under an id that names the change:
// after a crash in between the log has an event too many, and never one too few.
//
// Events of changes at the same time become one batch (primitives/log_group.h).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "once/claims.h"
#include "once/documents.h"
#include "once/effects.h"
#include "once/log.h"
#include "once/plan.h"
#include "once/tallies.h"

namespace once {

// What is recorded, and where. Empty: nothing is. Cheap to copy.
struct Recording {
  struct To {
    logs::Stream log;
    Duration keep{};                             // The event.
    logs::KnownEnds* known = nullptr;            // Must outlive the plan. May be null.
    std::function<Bytes(const Key& key)> event;  // Of a change of this key. Pure.
    std::function<void()> recorded = nullptr;    // Called after each event. Must not block.
  };
  std::shared_ptr<const To> to = nullptr;

  static Recording in(To to) { return {std::make_shared<const To>(std::move(to))}; }
  explicit operator bool() const { return to != nullptr; }
};

// Commits `writes`, of which the first is the change that is recorded, and resolves an unknown
// outcome. Its guard is unchanged(), absent_lasting(), or none if repeating it does no harm. Lost
// has the current item of the first write. `unavailable` if the log is closed.
Plan<CommitOutcome> commit_recorded(std::span<Write> writes, Recording recording);
Plan<CommitOutcome> commit_recorded(Write& write, Recording recording);

// Independent changes of different keys, in as few commits as may be; an outcome for each. Without
// a recording an outcome may be unknown.
Plan<std::vector<Result<CommitOutcome>>> commit_each_recorded(std::span<Write> writes,
                                                              Recording recording);

// Appends one event that belongs to no commit, before what it is about. `id` names it: an equal one
// within 24 h is not appended again.
Plan<std::monostate> record(Key key, std::string id, Recording recording);

namespace claims {
Plan<bool> forget(Key key, Recording recording);
Plan<bool> forget_seen(Key key, Recording recording);
Plan<BulkOutcome> forget_all(std::string name_space, BulkRequest request, Recording recording);
Plan<BulkOutcome> retry_all(std::string name_space, BulkRequest request, Recording recording);

// Makes busy and abandoned claims free without their tickets, which are fenced from then on. The
// attempt counts, and its failure says that an operator released it.
Plan<BulkOutcome> release_all(std::string name_space, BulkRequest request, Recording recording);
}  // namespace claims

namespace logs {
Plan<LogEnds> trim(Stream stream, std::int64_t before, Recording recording);
Plan<LogRemoval> remove(Stream stream, Recording recording);
}  // namespace logs

namespace documents {
Plan<WriteOutcome> remove(Key key, std::string etag, Identity identity, Recording recording);
Plan<BulkRemoved> remove_all(std::string name_space, Listing listing, BulkRun run,
                             Contention& contention, Recording recording);
}  // namespace documents

namespace effects {
// Records the documents that it removes: in the same commit, or where the store cannot, right after
// it.
Plan<Outcome> commit(Request request, Recording recording);

// Seals that with the rest: it is recorded when the token is applied.
Plan<PrepareOutcome> prepare(Request request, Recording recording);
}  // namespace effects

namespace tallies {
Plan<bool> remove(Key key, KnownTallies* known, Recording recording);
Plan<BulkRemoved> remove_all(std::string name_space, Listing listing, BulkRun run,
                             KnownTallies* known, Recording recording);
}  // namespace tallies

}  // namespace once
