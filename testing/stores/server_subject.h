// Subjects on real servers.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "testing/manual_clock.h"
#include "testing/stores/stores.h"

namespace once::testing {

// Opens the store on a clock, at first and again by reopen().
using OpenOn = std::function<Result<std::unique_ptr<Store>>(Clock& clock)>;

class ServerSubject : public Subject {
 public:
  Store& store() override { return *store_; }
  void reopen() override {
    close();
    Result<std::unique_ptr<Store>> opened = open_(clock_);
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

 protected:
  ServerSubject(OpenOn open, Clock& clock) : open_(std::move(open)), clock_(clock) {}

  void close() { store_.reset(); }  // For who owns the clock, which the store needs until then.

 private:
  const OpenOn open_;
  Clock& clock_;
  std::unique_ptr<Store> store_;
};

// Time is the suite's: it moves the clock.
class MovedClockSubject final : public ServerSubject {
 public:
  MovedClockSubject(OpenOn open, Time begin)
      : ServerSubject(std::move(open), moved_), moved_(begin) {
    reopen();
  }
  ~MovedClockSubject() override { close(); }

  // The server's time goes on as well, and now() is the later.
  void wait_until(Time time) override {
    while (store().now() < time) moved_.advance(time - store().now());
  }

 private:
  ManualClock moved_;
};

// Time is the server's.
class OwnClockSubject final : public ServerSubject {
 public:
  explicit OwnClockSubject(OpenOn open) : ServerSubject(std::move(open), boot_clock()) { reopen(); }

  void wait_until(Time time) override { await_time(store(), time); }
};

}  // namespace once::testing
