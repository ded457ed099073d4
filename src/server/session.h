// One connection. Reads requests, pipelined ones too, and answers them in order. Lives on its
// IoThread; everything but make() is called there.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "server/budget.h"
#include "server/handler.h"
#include "server/server.h"

namespace once::server {

class IoThread;
class Stream;

// What the connections of a server share. Must outlive them.
struct Shared {
  const Settings& settings;  // Of the connection's thread: they may change between two tasks.
  Handler& handler;
  Clock& clock;
  Budgets& budgets;
  Judgement& judgement;
  ConnectionSeats& seats;
};

class Session {
 public:
  static std::shared_ptr<Session> make(IoThread& thread, std::shared_ptr<Stream> stream,
                                       Shared shared, ConnectionSeats::Seat seat);
  virtual ~Session() = default;

  virtual void start() = 0;
  virtual void turn_away(std::string_view why) = 0;  // Instead of start(): 503.

  // Takes no further request, and ends once every answer is sent.
  virtual void finish() = 0;

  virtual void abort() = 0;  // At once.
  virtual void end_if_late(std::chrono::steady_clock::time_point now) = 0;

  // When it last had something to do: now, if it has a request, an answer or a follower.
  virtual std::chrono::steady_clock::time_point last_active(
      std::chrono::steady_clock::time_point now) const = 0;
};

}  // namespace once::server
