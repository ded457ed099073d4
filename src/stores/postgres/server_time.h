// The server's time, as far as its answers tell, going on at the pace of our own clock
// (docs/hazards.md#h15, docs/hazards.md#h36).
//
// It is kept no later than the server's: an item that has expired by it has expired for the server.
#pragma once

#include "base/server_time.h"
#include "once/time.h"

namespace once::postgres {

// Safe to share between threads.
class ServerTime {
 public:
  explicit ServerTime(Clock& clock) : clock_(clock) {}
  virtual ~ServerTime() = default;

  // What our clock shows, for learn().
  Time own() { return clock_.now(); }

  // The server showed `server` somewhen between `sent` and `received` of our clock. Not for tests
  // whose clock must be the only one.
  virtual void learn(Time sent, Time received, Time server) {
    offset_.learn(server, sent, received);
  }

  // Never steps back, and never stands still.
  Time now() {
    const Time own = clock_.now();
    return time_.follow(own + offset_.least(), own);
  }

  // Whether more than one source says so.
  virtual bool is_settled() { return offset_.is_settled(); }

 private:
  Clock& clock_;
  ServerOffset offset_{Duration(1)};  // Every answer tells milliseconds.
  ForwardTime time_;
};

}  // namespace once::postgres
