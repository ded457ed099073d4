// A commit is a list of writes, each under a guard: all of them happen, or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "once/item.h"
#include "once/key.h"

namespace once {

// What must hold for a write to happen. An expired item is absent.
struct Guard {
  enum class Kind : std::uint8_t { anything, absent, unchanged, permanent };

  Kind kind = Kind::anything;
  Version version;       // With `unchanged`: the version that must still be there.
  bool lasting = false;  // With `absent`: see absent_lasting().
};

inline Guard anything() { return {}; }
inline Guard absent() { return {.kind = Guard::Kind::absent}; }
inline Guard unchanged(Version since) { return {Guard::Kind::unchanged, since}; }

// The item is there, whatever its version, and has no expiry.
inline Guard permanent() { return {.kind = Guard::Kind::permanent}; }

// How long a caller may try one commit.
inline constexpr Duration kAttemptLife = std::chrono::seconds(60);

// absent(), and a promise by the primitive that owns the key: once written, the item is not erased
// or replaced within kAttemptLife. After an unknown outcome another item there proves that this
// write lost, and sending it again is safe. Stores treat it as absent().
inline Guard absent_lasting() { return {.kind = Guard::Kind::absent, .lasting = true}; }

struct Write {
  enum class Kind : std::uint8_t {
    put,    // The item becomes `value`.
    add,    // The integer grows by `value`; absent counts as 0. Overflow is refused.
    raise,  // The integer becomes `value` if that is larger, or if absent; otherwise the item stays
            // as it is, version and expiry included.
    erase,  // The item is gone; absent is fine.
    check,  // Nothing is written; only the guard counts.
  };

  Kind kind = Kind::put;
  Guard guard;
  Key key;
  Value value;           // put, add, raise.
  Time expiry = kNever;  // put, add, raise: the item's expiry from now on.
  Version version;       // put, add, raise: of the item once written. Drivers fill it in.
  bool pinned = false;   // put: not to be evicted before its expiry by a store that has a bound.
};

Write put(Key key, Value value, Guard guard, Time expiry = kNever);
Write add(Key key, std::int64_t amount, Guard guard = anything(), Time expiry = kNever);
Write raise(Key key, std::int64_t value, Guard guard = anything(), Time expiry = kNever);
Write erase(Key key, Guard guard);
Write check(Key key, Guard guard);

// Writes that happen together. A key appears at most once.
using Transaction = std::span<const Write>;

// Every write happened. `numbers` is empty unless there was an add or a raise; then it has one
// entry for each write: the integer afterwards, where the store can tell.
struct Committed {
  std::vector<std::optional<std::int64_t>> numbers;
};

// Nothing happened: the guard of this write did not hold (of the first such write, where a store
// can tell which is first). `current` is the item there now.
struct Lost {
  std::size_t write = 0;
  std::optional<Item> current;
};

using CommitOutcome = std::variant<Committed, Lost>;

inline bool committed(const CommitOutcome& outcome) {
  return std::holds_alternative<Committed>(outcome);
}

}  // namespace once
