// Sending a request again after its answer was lost.
#pragma once

#include <cstdint>
#include <functional>

#include "base/backoff.h"
#include "once/entropy.h"
#include "once/error.h"
#include "wire/message.h"

namespace once::remote {

// Whether a request has the same effect however often it arrives.
enum class Repeat : std::uint8_t { never, safe };

struct CallResult {
  wire::Response response;

  // The answer to an earlier try was lost. Then a replay may be of our own first try.
  bool was_retried = false;
};

struct RepeatOptions {
  Repeat repeat = Repeat::never;
  Duration within{};
  Duration grace{};  // How much longer the last answer may take.
  Duration waits{};  // What of `within` the server may wait for others before it answers.

  // Asked before a repeat: false ends the call.
  std::function<bool()> still_there;
};

// Sends until there is an answer: an outcome, or a problem of a request that was not carried out. A
// request whose answer was lost is repeated, if it may be, until `within` is over; after that it is
// `unknown`. One that was never sent is `unavailable` at once. The first try of what may be
// repeated does not take all of the time: its connection may be one that nothing ever comes back
// on.
using Send = std::function<Result<wire::Response>(Duration timeout)>;
Result<CallResult> call_until_answered(const wire::Request& request, const RepeatOptions& options,
                                       Clock& clock, Entropy& entropy, const Send& send);

}  // namespace once::remote
