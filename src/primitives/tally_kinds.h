// From a caller's input to a kind's state, and from a state to what it says.
#pragma once

#include <cstdint>
#include <string_view>

#include "once/tallies.h"

namespace once::tallies {

// The state that stands for an input alone. `invalid` if it is none for the kind.
Result<Bytes> state_of(const TallyShape& shape, const Monoid& monoid, const TallyInput& input);

// What a valid state says.
TallyValue value_of(TallyKind kind, std::string_view state);

// Kinds that a store can merge by itself keep an integer: sum, count and max their value, min its
// complement, so that the smallest raises highest; no int64 overflows by it.
bool is_native(TallyKind kind);
Bytes state_of_native(TallyKind kind, std::int64_t number);
std::int64_t native_of(TallyKind kind, std::string_view state);  // Not of a max or min of nothing.

}  // namespace once::tallies
