// The meta item of a tally: what a merge has to do with it, and how a tally is removed.
#pragma once

#include <optional>
#include <vector>

#include "primitives/prepared_merge.h"

namespace once::tallies {

// What a merge needs of the tally's meta.
struct MetaStep {
  std::optional<OtherTally> other;  // The merge is refused.

  // At most one: it checks or replaces the meta, and belongs to the commit of the merge. So a
  // removed tally cannot be merged into. None on a store that takes one write per commit, where no
  // tally is removed, and where the meta is in place by now.
  std::vector<Write> writes;
  Item after;  // The meta once that is committed.

  // The meta is as the merge needs it. In place of `writes`, the merge may require that the bucket
  // has no expiry: such a bucket goes in the commit that begins a removal, or in one that gives the
  // meta another end, and its key is of this life only.
  bool stands = false;
};

// Sets the life of `merge`. Finishes a removal that was begun. `known` may be null.
Plan<MetaStep> plan_meta(PreparedMerge* merge, KnownTallies* known);

// Erases the buckets of a tally that is being removed, then its meta, which is `item`.
Plan<std::monostate> finish_removal(Key key, Item item);

}  // namespace once::tallies
