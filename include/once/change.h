// A change is a read-modify-write of one key. A driver may merge it with other changes that wait
// for the same key into one commit. It has no condition: a caller that wants a certain version
// commits under unchanged() instead, and is never merged.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "once/error.h"
#include "once/write.h"

namespace once {

struct Keep {};   // Leave the current item. Nothing is written, `also` neither.
struct Clear {};  // Erase it.
struct Replace {
  Value value;
  Time expiry = kNever;
};
using Edit = std::variant<Keep, Clear, Replace>;

// What to do with the current item. Pure.
using Apply = std::function<Result<Edit>(const std::optional<Item>& current)>;

// A part of changes that can be joined before they are applied, as amounts to add can be added up:
// the value of their key is then decoded and encoded once for all of them.
class Joinable {
 public:
  virtual ~Joinable() = default;

  // Does what the changes of all `parts`, of which this is one, would do one after the other in
  // this order. Empty if they cannot be joined after all.
  virtual Apply joined(std::span<Joinable* const> parts) = 0;
};

struct Change {
  Key key;

  // Called for each try, perhaps on the result of changes that are merged before it. An error here
  // is this caller's answer alone.
  Apply apply;

  // Writes of the same commit, typically a marker with the change's id. Not `key` itself.
  std::vector<Write> also;

  // Set if the change can be joined with others. Must outlive the change.
  Joinable* part = nullptr;

  // About how many bytes `apply` goes through besides the current item.
  std::size_t weight = 0;
};

// The change is made. current() is what the key holds after the whole group: its version is good
// for a later unchanged(), and its value may include others' changes. All of the group share it.
struct Changed {
  const std::optional<Item>& current() const { return *item; }

  std::shared_ptr<const std::optional<Item>> item;  // Never null.
};

// Nothing was written: another process changed the key between read and write. Try again later.
struct Overtaken {};

// Nothing of this change was written: a guard in `also` did not hold. Lost::write counts in `also`.
using ChangeOutcome = std::variant<Changed, Overtaken, Lost>;

}  // namespace once
