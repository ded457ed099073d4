// The body of an answer that is sent as it comes: one thread puts pieces in, and the connection
// takes them out as fast as its peer reads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kernel/mutex.h"

namespace once::server {

// Safe to share between threads.
class Pieces {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  explicit Pieces(std::size_t most = 256U << 10) : most_(most) {}

  // Waits while too much waits to be sent. False if nobody wants it, or there is no room by
  // `until`; then nobody gets any more.
  bool put(std::string_view piece, Instant until);

  void end();        // That was all of it.
  void break_off();  // It ends here, and that was not all. Not if it has ended.

  enum class State : std::uint8_t { open, whole, broken };
  struct Taken {
    std::string bytes;
    State state = State::open;
  };

  // All that is there. `broken` and `whole` come after the last of it.
  Taken take();

  // `wake` is called on any thread whenever there is something to take.
  void watch(std::function<void()> wake);

  void leave();  // Nobody takes any more.

 private:
  void close(State state);
  void wake();

  const std::size_t most_;

  Mutex mutex_;
  std::condition_variable room_;
  std::string waiting_ ONCE_GUARDED_BY(mutex_);
  State state_ ONCE_GUARDED_BY(mutex_) = State::open;
  bool left_ ONCE_GUARDED_BY(mutex_) = false;
  std::function<void()> wake_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::server
