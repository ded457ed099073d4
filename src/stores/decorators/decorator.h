// What every decorator hands on unchanged.
#pragma once

#include <string>

#include "once/store.h"

namespace once {

template <class Interface>
class Decorator : public Interface {
 public:
  explicit Decorator(Store& inner) : inner_(inner) {}

  const Limits& limits() const override { return inner_.limits(); }
  std::string describe() const override { return inner_.describe(); }
  Time now() override { return inner_.now(); }

 protected:
  Store& inner_;
};

}  // namespace once
