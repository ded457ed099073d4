// A store that declares lower limits than the one behind it, and keeps to them.
#pragma once

#include "stores/decorators/decorator.h"

namespace once::testing {

class LimitedStore final : public Decorator<Store> {
 public:
  LimitedStore(Store& inner, const Limits& limits) : Decorator(inner), limits_(limits) {}

  LimitedStore(Store& inner, std::size_t writes_per_commit)
      : Decorator(inner), limits_(inner.limits()) {
    limits_.writes_per_commit = writes_per_commit;
  }

  const Limits& limits() const override { return limits_; }

 private:
  Limits limits_;
};

}  // namespace once::testing
