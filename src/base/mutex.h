// std::mutex with clang's thread-safety annotations, which libstdc++'s own lacks. (absl::Mutex has
// them, but the race detector cannot see into Debian's build of it.)
#pragma once

#include <mutex>

#if defined(__clang__)
#define ONCE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define ONCE_THREAD_ANNOTATION(x)
#endif
#define ONCE_GUARDED_BY(x) ONCE_THREAD_ANNOTATION(guarded_by(x))
#define ONCE_REQUIRES(...) ONCE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ONCE_EXCLUDES(...) ONCE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ONCE_UNCHECKED_LOCKING ONCE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace once {

class ONCE_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() ONCE_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  bool try_lock() ONCE_THREAD_ANNOTATION(try_acquire_capability(true)) { return mutex_.try_lock(); }

  // For locks held for a shorter time than falling asleep and waking takes: tries for about as long
  // before it blocks.
  void lock_brief() ONCE_THREAD_ANNOTATION(acquire_capability()) {
    for (int tries = 0; tries < kBriefTries; ++tries) {
      if (mutex_.try_lock()) return;
      pause();
    }
    mutex_.lock();
  }

  void unlock() ONCE_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class Lock;
  static constexpr int kBriefTries = 100;

  // Keeps the waiting core from disturbing the holder's memory traffic.
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::mutex mutex_;
};

class ONCE_THREAD_ANNOTATION(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) ONCE_THREAD_ANNOTATION(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~Lock() ONCE_THREAD_ANNOTATION(release_capability()) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // For condition variables. It is locked whenever the caller uses it.
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace once
