// How drivers perform one step on a store.
#pragma once

#include <optional>

#include "once/plan.h"

namespace once::detail {

// Gives a version to each write that needs one and has none.
void stamp(std::span<Write> writes, Entropy& entropy);

// Performs one step of any kind but change, pause and wait, and fills in its answer.
void perform(const Step& step, Store& store, Entropy& entropy);

// How long the step lets time pass, by a driver that wakes no plan earlier; empty for other steps.
std::optional<Duration> length_of(const Step& step);

// The same for several transactions.
void stamp_each(std::span<const std::span<Write>> transactions, Entropy& entropy);

// Whether the step's answer says that a commit may have been written.
bool is_unknown(const Step& step);

// The error of a plan whose time is over.
Error out_of_time(bool saw_unknown);

// The error of a plan whose driver stops.
Error stopped(bool saw_unknown);

}  // namespace once::detail
