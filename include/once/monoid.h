// How a tally merges states: the identity, the merge of two states, and which bytes are a state.
// Every built-in kind is a monoid, and a program may add its own.
//
// merge() is associative and commutative as far as the kind promises (a sum of doubles up to
// rounding, heavy hitters up to their bounds), and merging the identity changes nothing: the order
// of writers does not matter.
//
// Safe to share between threads; the functions are pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "once/error.h"
#include "once/item.h"

namespace once {

class Monoid {
 public:
  virtual ~Monoid() = default;

  // The kind of the states, with its shape ("distinct/14"). Stored with each tally: states of
  // another name are never merged. 1 to 64 printable bytes. Never reuse a name with another
  // meaning.
  virtual std::string name() const = 0;

  virtual Bytes identity() const = 0;

  // `invalid` or `corrupt` unless these bytes are a state.
  virtual Result<void> validate(std::string_view state) const = 0;

  // Of two valid states. `invalid` if there is no result, as after an overflow: nothing changes.
  virtual Result<Bytes> merge(std::string_view a, std::string_view b) const = 0;

  // The same, into `state`, which an error leaves as it was. For kinds with large states, which
  // need no second one then.
  virtual Result<void> merge_into(Bytes& state, std::string_view other) const {
    Result<Bytes> merged = merge(state, other);
    if (!merged) return std::unexpected(std::move(merged.error()));
    state = std::move(*merged);
    return {};
  }

  // Whether a state merged again changes nothing, as with a maximum or a union: merge(merge(a, b),
  // b) is merge(a, b). Then a merge whose reply was lost is sent again, id or not.
  virtual bool idempotent() const { return false; }
};

}  // namespace once
