// What can be said about a commit whose reply was lost, from what stands at its keys (H7).
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "once/write.h"

namespace once {

struct StillUnknown {};
using Resolution = std::variant<StillUnknown, Committed, Lost>;

// `standing` has what each write's key holds; nothing is known of what is absent there.
//   Committed     a version of this commit stands, so all of it happened;
//   Lost          another's item stands under absent_lasting(): it did not happen and cannot;
//   StillUnknown  it may have happened and been overwritten, or may still be under way.
Resolution resolve(Transaction sent, std::span<const std::optional<Item>> standing);

// Whether sending it once more can change nothing that its first sending, early or late, has
// already changed: no add, and a mutation whose guard cannot hold again after it has landed.
bool may_send_again(Transaction sent);

}  // namespace once
