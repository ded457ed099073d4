// Runs a plan on the caller's thread, one step after the other: for the library and the shell.
// Safe to share between threads; each call runs its own plan.
#pragma once

#include <optional>
#include <utility>

#include "once/plan.h"

namespace once {

class BlockingDriver {
 public:
  // All three must outlive the driver.
  explicit BlockingDriver(Store& store, Clock& clock = system_clock(),
                          Entropy& entropy = system_entropy())
      : store_(store), clock_(clock), entropy_(entropy) {}

  // The plan's answer. No step begins once `patience` is over: the plan then ends as `unavailable`,
  // or as `unknown` if one of its commits was. A step under way is not cut off.
  template <class T>
  Result<T> run(Plan<T> plan, Duration patience = kAttemptLife) {
    Run run(*this);
    detail::start(run, plan);
    if (std::optional<Error> cut_short = finish(run, patience)) {
      return std::unexpected(std::move(*cut_short));
    }
    return detail::take_result(plan);
  }

 private:
  class Run final : public detail::PlanState {
   public:
    explicit Run(BlockingDriver& driver)
        : PlanState(driver.store_.limits(), driver.entropy_, driver.store_.secret()),
          store_(driver.store_) {}
    Time now() override { return store_.now(); }

   private:
    Store& store_;
  };

  std::optional<Error> finish(Run& run, Duration patience);
  Duration left_until(Time deadline);

  Store& store_;
  Clock& clock_;
  Entropy& entropy_;
};

}  // namespace once
