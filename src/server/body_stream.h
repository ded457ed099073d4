// The body of an answer that is sent while it arrives: one thread writes pieces, and the connection
// takes them as fast as its peer reads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace once::server {

// Safe to share between threads.
class BodyStream {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  // Holds about `capacity` bytes that are not sent yet.
  explicit BodyStream(std::size_t capacity = 256U << 10) : capacity_(capacity) {}

  // Waits for room until `until`. False if the reader cancelled or there was no room in time; then
  // every later call returns false, too.
  bool put(std::string_view piece, Instant until);

  // Whether put() would wait.
  bool is_full();

  void end();    // The body is complete.
  void abort();  // The body is cut off here. No effect after end().

  enum class State : std::uint8_t { open, complete, aborted };
  struct Taken {
    std::string bytes;
    State state = State::open;
  };

  // Everything that waits. `complete` and `aborted` come with or after the last bytes.
  Taken take();

  // `wake` is called on any thread whenever there is something to take.
  void watch(std::function<void()> wake);

  void cancel();  // The reader takes no more.

 private:
  void close(State state);
  void wake();

  const std::size_t capacity_;

  Mutex mutex_;
  std::condition_variable room_;
  std::string waiting_ ONCE_GUARDED_BY(mutex_);
  State state_ ONCE_GUARDED_BY(mutex_) = State::open;
  bool cancelled_ ONCE_GUARDED_BY(mutex_) = false;
  std::function<void()> wake_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::server
