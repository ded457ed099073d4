#include "base/periodic.h"

#include <utility>

namespace once {

Periodic::Periodic(Clock& clock, Duration every, std::function<bool()> work)
    : clock_(clock), every_(every), work_(std::move(work)) {
  // The first turn counts from here, not from when the thread starts to run.
  thread_ = std::thread([this, turn = later(clock.now(), every)]() mutable {
    while (wait_until(turn)) {
      turn = later(clock_.now(), every_);
      run();
    }
  });
}

Periodic::~Periodic() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  signal_.notify_all();
  thread_.join();
}

void Periodic::run() {
  while (work_()) {
    const Lock lock(mutex_);
    if (stopping_) return;
  }
}

// False if it was stopped.
bool Periodic::wait_until(Time turn) {
  Lock lock(mutex_);
  while (!stopping_ && clock_.now() < turn) clock_.wait(signal_, lock.native(), turn);
  return !stopping_;
}

}  // namespace once
