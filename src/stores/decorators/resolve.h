// Finds out the outcome of a commit whose reply was lost, from the current items of its keys
// (docs/hazards.md#h7).
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "once/write.h"

namespace once {

struct StillUnknown {};
using Resolution = std::variant<StillUnknown, Committed, Lost>;

// `current` has the item of each write's key; an absent one proves nothing.
//   Committed     a version of this commit is there, so all of it happened;
//   Lost          another's item is there under absent_lasting(): it did not happen and cannot;
//   StillUnknown  it may have happened and been overwritten, or may still be under way.
Resolution resolve(Transaction sent, std::span<const std::optional<Item>> current);

// True if sending it once more cannot take effect twice: it has no add, and has a write whose guard
// cannot hold again after it has landed.
bool may_send_again(Transaction sent);

}  // namespace once
