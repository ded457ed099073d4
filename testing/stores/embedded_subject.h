// Subjects whose clock the suite moves, with decorators on top where wanted.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "testing/manual_clock.h"
#include "testing/stores/stores.h"

namespace once::testing {

class EmbeddedSubject : public Subject {
 public:
  using Open = std::function<std::unique_ptr<Store>(Clock& clock)>;
  using Decorate = std::function<std::unique_ptr<Store>(Store& inner)>;

  explicit EmbeddedSubject(Open open, std::vector<Decorate> decorators = {})
      : open_(std::move(open)), decorators_(std::move(decorators)) {
    open_all();
  }
  ~EmbeddedSubject() override { close_all(); }

  Store& store() override { return *layers_.back(); }
  void wait_until(Time time) override {
    if (time > clock_.now()) clock_.advance(time - clock_.now());
  }
  void reopen() override {
    close_all();
    open_all();
  }

 private:
  void open_all() {
    layers_.push_back(open_(clock_));
    for (const Decorate& decorate : decorators_) layers_.push_back(decorate(*layers_.back()));
  }
  void close_all() {
    while (!layers_.empty()) layers_.pop_back();  // The outermost first.
  }

  const Open open_;
  const std::vector<Decorate> decorators_;
  ManualClock clock_;
  std::vector<std::unique_ptr<Store>> layers_;
};

}  // namespace once::testing
