// A plan that was started on a driver, and its answer when it comes.
#pragma once

#include <future>

#include "once/batching_driver.h"

namespace once::testing {

template <class T>
class StartedPlan {
 public:
  StartedPlan(BatchingDriver& driver, Plan<T> plan) {
    std::promise<Result<T>> told;
    answer_ = told.get_future();
    started_ = driver.start<T>(std::move(plan), [told = std::move(told)](Result<T> given) mutable {
      told.set_value(std::move(given));
    });
  }

  bool started() const { return started_.has_value(); }
  bool answered() const {
    return answer_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  Result<T> wait() { return answer_.get(); }

 private:
  std::future<Result<T>> answer_;
  Result<void> started_;
};

}  // namespace once::testing
