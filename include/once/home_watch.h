// Tells a process at once what other processes write, where a store can tell: then followers and
// waiters need not wait for their next look.
//
// All of it is hints. What is told may be nothing new, and what was written may stay untold: a
// caller that is told reads the store, and looks now and then without being told.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "once/error.h"

namespace once {

// Safe to share between threads.
class HomeWatch {
 public:
  // Called on a thread of the watch; must not block.
  struct Listener {
    std::function<void(const std::string& home)> written;  // Something of this home, perhaps.
    std::function<void()> anything;                        // Anything may have been.

    // is_live() has changed, or is known for the first time. An error says why it is false;
    // `unsupported`: it stays so.
    std::function<void(const Result<void>& state)> changed;
  };

  virtual ~HomeWatch() = default;

  // To be called once. Nothing is told before, nor after stop(), which waits for a call under way.
  virtual void start(Listener listener) = 0;
  virtual void stop() = 0;

  // From soon after add() until remove() what is written to the home is told. Homes are counted:
  // one that was added twice is to be removed twice. Neither waits for the store.
  virtual void add(const std::string& home) = 0;
  virtual void remove(const std::string& home) = 0;

  // False while hints may be missing.
  virtual bool is_live() const = 0;
};

// Null where a store has none. Part of once::open.
std::unique_ptr<HomeWatch> watch_homes(std::string_view address);

}  // namespace once
