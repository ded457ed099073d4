// A change is a read-modify-write of one key that may be merged with other changes waiting on the
// same key into one commit. Unconditional by nature: a caller that insists on a version commits
// under unchanged() instead, and is never merged.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
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

// What becomes of what stands there. Pure.
using Apply = std::function<Result<Edit>(const std::optional<Item>& standing)>;

// What changes have that can be taken together before they are applied, as numbers to be added can
// be added up: the value of their key is then read and made once for all of them.
class Joinable {
 public:
  virtual ~Joinable() = default;

  // Does what the changes of all `parts`, which come in this order and of which this is one, would
  // do one after the other. Empty if they cannot be taken together after all.
  virtual Apply joined(std::span<Joinable* const> parts) = 0;
};

struct Change {
  Key key;

  // Called again whenever the change is tried anew, and perhaps on the result of changes that are
  // merged before it. An error here is this caller's answer alone.
  Apply apply;

  // Written by the same commit, typically a marker with the change's id. Not `key` itself.
  std::vector<Write> also;

  // If it can be taken together with others. Must outlive the change.
  Joinable* part = nullptr;
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
