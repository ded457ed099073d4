// One connection. Reads requests, pipelined ones too, and answers them in order. Lives on its
// IoThread; everything but make() is called there.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>

#include "server/handler.h"
#include "server/server.h"

namespace once::server {

class IoThread;

// What the connections of a server share. Must outlive them.
struct Shared {
  const Settings& settings;
  Handler& handler;
  Clock& clock;
  std::atomic<std::size_t>& bodies;  // Bytes of large bodies that are held.
  Judgement& judgement;
};

class Session {
 public:
  static std::shared_ptr<Session> make(IoThread& thread, boost::asio::ip::tcp::socket socket,
                                       Shared shared);
  virtual ~Session() = default;

  virtual void start() = 0;
  virtual void turn_away() = 0;  // Instead of start(), if there are too many connections.

  // Takes no further request, and ends once every answer is sent.
  virtual void finish() = 0;

  virtual void abort() = 0;  // At once.
  virtual void end_if_late(std::chrono::steady_clock::time_point now) = 0;
};

}  // namespace once::server
