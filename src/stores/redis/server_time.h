// The server's time, as far as its answers tell, going on at the pace of our own clock
// (docs/hazards.md#h15, docs/hazards.md#h36).
//
// It is kept no later than the server's: an item that has expired by it has expired for the server.
#pragma once

#include "base/mutex.h"
#include "base/server_time.h"
#include "once/time.h"

namespace once::redis {

// Safe to share between threads.
class ServerTime {
 public:
  explicit ServerTime(Clock& clock) : clock_(clock) {}
  virtual ~ServerTime() = default;

  Clock& clock() { return clock_; }

  // What our clock shows, for learn().
  Time own() { return clock_.now(); }

  // The server showed `server` somewhen between `sent` and `received` of our clock. Not for tests
  // whose clock must be the only one.
  virtual void learn(Time sent, Time received, Time server);

  // Never steps back, and never stands still.
  Time now();

  // Whether more than one source says so; before that, every command asks for the time.
  bool is_settled() const { return offset_.is_settled(); }

  // Whether the server should be asked for its time with the next command.
  virtual bool is_old();

 private:
  Clock& clock_;
  ServerOffset offset_{Duration(1)};  // A script tells milliseconds.
  ForwardTime time_;
  Mutex mutex_;
  Time learnt_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::redis
