#include "cli/claiming.h"

#include <algorithm>

#include "base/backoff.h"
#include "cli/answer.h"

namespace once::cli {
namespace {

constexpr PauseBounds kPausesWhileBusy{
    .shortest = Duration(25), .first = Duration(50), .longest = Duration(1'000)};

bool is_busy(const Result<api::Response>& answer) {
  return answer && answer->status == 409 && field_of(*answer, "code") == "busy";
}

}  // namespace

bool sleep_for(Duration length) {
  system_clock().sleep(length);
  return true;
}

TakeAnswer take_within(Target& target, const api::Request& request, Duration wait,
                       const Pause& pause) {
  Clock& clock = system_clock();
  const Time give_up = later(clock.now(), wait);
  Backoff backoff(kPausesWhileBusy, clock, system_entropy());
  for (;;) {
    const Time asked = clock.now();
    TakeAnswer answer{target.call(request), asked};
    const Duration left = give_up - clock.now();
    if (!is_busy(answer.response) || left <= Duration::zero()) return answer;
    target.release_store();
    if (!pause(std::min(backoff.next(), left))) return answer;
  }
}

}  // namespace once::cli
