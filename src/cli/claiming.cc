#include "cli/claiming.h"

#include <algorithm>

#include "cli/answer.h"

namespace once::cli {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(50);
constexpr Duration kLongestPause = std::chrono::seconds(1);

bool is_busy(const Result<api::Response>& answer) {
  return answer && answer->status == 409 && field_of(*answer, "code") == "busy";
}

}  // namespace

bool sleep_for(Duration length) {
  system_clock().sleep(length);
  return true;
}

Result<api::Response> take_within(Target& target, const api::Request& request, Duration wait,
                                  const Pause& pause) {
  Clock& clock = system_clock();
  const Time give_up = later(clock.now(), wait);
  for (Duration next = kFirstPause;; next = std::min(next * 2, kLongestPause)) {
    Result<api::Response> answer = target.call(request);
    const Duration left = give_up - clock.now();
    if (!is_busy(answer) || left <= Duration::zero()) return answer;
    target.rest();
    if (!pause(std::min(next, left))) return answer;
  }
}

}  // namespace once::cli
