// Taking a claim that others may hold.
#pragma once

#include <functional>

#include "cli/target.h"

namespace once::cli {

// Sends `request`, which takes a claim; while the answer is `busy`, comes back until `wait` is
// over. The target rests in between, so that whoever holds the claim gets at the store to complete
// it.
using Pause = std::function<bool(Duration length)>;  // False: it is time to give up.
bool sleep_for(Duration length);
struct TakeAnswer {
  Result<api::Response> response;
  Time asked;  // When it was asked for: a lease does not begin earlier.
};
TakeAnswer take_within(Target& target, const api::Request& request, Duration wait,
                       const Pause& pause = sleep_for);

}  // namespace once::cli
