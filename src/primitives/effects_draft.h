// One try at a commit of effects, as writes on what was read just before.
#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "primitives/effects_receipt.h"
#include "primitives/effects_work.h"

namespace once::effects {

// What stood under each key that matters.
using Sight = std::map<Key, std::optional<Item>>;

// Who adds and raises integers. The store's own arithmetic meets no race, but cannot say which part
// overflows.
enum class Arithmetic : std::uint8_t { the_stores, ours };

std::vector<Key> keys_to_see(const Work& work, Arithmetic arithmetic);

// The two keys that tell whether the commit was made, as far as there are any.
std::vector<Key> witnesses(const Work& work);

// What the witnesses say: made, or refused by them; nothing if it can still be made.
Result<std::optional<Outcome>> verdict(const Work& work, const Sight& sight);

struct Draft {
  std::vector<Write> writes;
  Receipt receipt;
  std::vector<Tallied> tallied;

  // For each tally: the write whose number is its value, where the store's arithmetic tells it.
  std::vector<std::optional<std::size_t>> number_at;
};

// Refused where something that the caller insisted on does not hold. `places` are those of the
// jobs; `version` is given to every document.
Result<std::variant<Draft, Refused>> draft(const Work& work, const Sight& sight,
                                           const std::vector<logs::Place>& places, Version version,
                                           Arithmetic arithmetic, Time now);

// What was made by the draft once it is committed.
Made made_by(const Work& work, Draft draft, const Committed& committed);

}  // namespace once::effects
