// A change is a read-modify-write of one key that may be merged with other changes waiting on the
// same key into one commit. Unconditional by nature: a caller that insists on a version commits
// under unchanged() instead, and is never merged.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "once/error.h"
#include "once/write.h"

namespace once {

struct Keep {};   // Leave what stands there. Nothing is written, `also` neither.
struct Clear {};  // Erase it.
struct Replace {
  Value value;
  Time expiry = kNever;
};
using Edit = std::variant<Keep, Clear, Replace>;

struct Change {
  Key key;

  // What becomes of what stands there. Pure: called again whenever the change is tried anew, and
  // perhaps on the result of changes that are merged before it. An error here is this caller's
  // answer alone.
  std::function<Result<Edit>(const std::optional<Item>& standing)> apply;

  // Written by the same commit, typically a marker with the change's id. Not `key` itself.
  std::vector<Write> also;
};

// The change is made. `standing` is what the key holds after the whole group, so its version is
// good for a later unchanged(), and its value may include others' changes.
struct Changed {
  std::optional<Item> standing;
};

// Nothing was written: another process changed the key between read and write. Try again, later.
struct Overtaken {};

// Nothing of this change was written: a guard in `also` did not hold. Lost::write counts in `also`.
using ChangeOutcome = std::variant<Changed, Overtaken, Lost>;

}  // namespace once
