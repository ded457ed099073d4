#include "server/pieces.h"

#include <utility>

namespace once::server {

bool Pieces::put(std::string_view piece, Instant until) {
  {
    Lock lock(mutex_);
    while (!left_ && state_ == State::open && waiting_.size() >= most_) {
      if (room_.wait_until(lock.native(), until) == std::cv_status::timeout) state_ = State::broken;
    }
    if (left_ || state_ != State::open) return false;
    waiting_ += piece;
  }
  wake();
  return true;
}

void Pieces::end() { close(State::whole); }
void Pieces::break_off() { close(State::broken); }

void Pieces::close(State state) {
  {
    const Lock lock(mutex_);
    if (state_ != State::open) return;
    state_ = state;
  }
  wake();
}

Pieces::Taken Pieces::take() {
  const Lock lock(mutex_);
  room_.notify_one();
  return {std::exchange(waiting_, {}), state_};
}

void Pieces::watch(std::function<void()> wake) {
  const Lock lock(mutex_);
  wake_ = std::move(wake);
}

void Pieces::leave() {
  const Lock lock(mutex_);
  left_ = true;
  waiting_.clear();
  wake_ = nullptr;
  room_.notify_all();
}

void Pieces::wake() {
  std::function<void()> wake;
  {
    const Lock lock(mutex_);
    wake = wake_;
  }
  if (wake) wake();
}

}  // namespace once::server
