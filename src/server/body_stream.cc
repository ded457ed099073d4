#include "server/body_stream.h"

#include <utility>

namespace once::server {

bool BodyStream::put(std::string_view piece, Instant until) {
  {
    Lock lock(mutex_);
    while (!cancelled_ && state_ == State::open && waiting_.size() >= capacity_) {
      if (room_.wait_until(lock.native(), until) == std::cv_status::timeout)
        state_ = State::aborted;
    }
    if (cancelled_ || state_ != State::open) return false;
    waiting_ += piece;
  }
  wake();
  return true;
}

bool BodyStream::is_full() {
  const Lock lock(mutex_);
  return !cancelled_ && state_ == State::open && waiting_.size() >= capacity_;
}

void BodyStream::end() { close(State::complete); }
void BodyStream::abort() { close(State::aborted); }

void BodyStream::close(State state) {
  {
    const Lock lock(mutex_);
    if (state_ != State::open) return;
    state_ = state;
  }
  wake();
}

BodyStream::Taken BodyStream::take() {
  const Lock lock(mutex_);
  room_.notify_one();
  return {std::exchange(waiting_, {}), state_};
}

void BodyStream::watch(std::function<void()> wake) {
  const Lock lock(mutex_);
  wake_ = std::move(wake);
}

void BodyStream::cancel() {
  const Lock lock(mutex_);
  cancelled_ = true;
  waiting_.clear();
  wake_ = nullptr;
  room_.notify_all();
}

void BodyStream::wake() {
  std::function<void()> wake;
  {
    const Lock lock(mutex_);
    wake = wake_;
  }
  if (wake) wake();
}

}  // namespace once::server
