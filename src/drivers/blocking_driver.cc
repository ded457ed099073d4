#include "once/blocking_driver.h"

#include <algorithm>

#include "drivers/perform.h"

namespace once {

std::optional<Error> BlockingDriver::finish(Run& run, Duration patience) {
  const Time deadline = later(clock_.now(), patience);
  bool saw_unknown = false;
  detail::go_on(run);
  while (run.leaf != nullptr) {
    if (const auto* pause = std::get_if<detail::PauseStep*>(&run.step)) {
      clock_.sleep(std::min((*pause)->length, std::max(deadline - clock_.now(), Duration::zero())));
    }
    if (clock_.now() >= deadline) return detail::out_of_time(saw_unknown);
    detail::perform(run.step, store_, entropy_);
    saw_unknown |= detail::is_unknown(run.step);
    detail::go_on(run);
  }
  return std::nullopt;
}

}  // namespace once
