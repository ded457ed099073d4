#include "once/blocking_driver.h"

#include <algorithm>

#include "drivers/perform.h"

namespace once {

std::optional<Error> BlockingDriver::finish(Run& run, Duration patience) {
  if (patience <= Duration::zero()) return detail::out_of_time(false);
  const Time deadline = later(clock_.now(), patience);
  bool saw_unknown = false;
  detail::go_on(run);
  // The first step begins at once, so the clock need not be read again.
  for (bool first = true; run.leaf != nullptr; first = false) {
    const std::optional<Duration> pause = detail::length_of(run.step);
    if (pause) clock_.sleep(std::min(*pause, left_until(deadline)));
    if ((!first || pause) && clock_.now() >= deadline) {
      return detail::out_of_time(saw_unknown);
    }
    detail::perform(run.step, store_, entropy_);
    saw_unknown |= detail::is_unknown(run.step);
    detail::go_on(run);
  }
  return std::nullopt;
}

Duration BlockingDriver::left_until(Time deadline) {
  return std::max(deadline - clock_.now(), Duration::zero());
}

}  // namespace once
