#include "remote/repeat.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/backoff.h"
#include "wire/problem.h"

namespace once::remote {
namespace {

constexpr PauseBounds kPauses{
    .shortest = Duration(25), .first = Duration(50), .longest = Duration(2'000)};

constexpr Duration kShortestTry(250);

// A third of the time. The second try has the rest, so that a slow server, too, is heard out. What
// reads is not repeated after its time is over.
Duration length_of_first_try(const wire::Request& request, const RepeatOptions& options) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (reads || options.repeat == Repeat::never) return options.within + options.grace;
  return options.waits + std::max((options.within - options.waits) / 3, kShortestTry);
}

std::optional<Error> error_in(const wire::Request& request, const Result<wire::Response>& answer) {
  return answer ? wire::error_of(request, *answer) : std::optional(answer.error());
}

}  // namespace

Result<CallResult> call_until_answered(const wire::Request& request, const RepeatOptions& options,
                                       Clock& clock, Entropy& entropy, const Send& send) {
  const Deadline deadline(clock, options.within);
  std::optional<Error> lost;
  Backoff backoff(kPauses, clock, entropy, deadline.until());
  Duration longest = length_of_first_try(request, options);
  for (;;) {
    const Duration left = deadline.left() + options.grace;
    Result<wire::Response> answer = send(std::min(left, std::exchange(longest, left)));
    const std::optional<Error> error = error_in(request, answer);
    if (error && error->code == ErrorCode::unknown) lost = error;
    if (!error || !lost) {
      if (!answer) return std::unexpected(std::move(answer.error()));
      return CallResult{std::move(*answer), lost.has_value()};
    }
    // Once an answer was lost, no error of a later try says what became of the request.
    const bool gone = options.still_there && !options.still_there();
    const bool may_repeat = options.repeat == Repeat::safe && is_transient(*error) && !gone;
    if (!may_repeat || !backoff.pause()) return std::unexpected(std::move(*lost));
  }
}

}  // namespace once::remote
