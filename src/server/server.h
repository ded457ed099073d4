// The HTTP server: listens, and gives each connection to one of its threads. Every size, count and
// wait has a limit.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "once/time.h"
#include "once/write.h"
#include "server/handler.h"
#include "server/judgement.h"

namespace once::server {

struct Settings {
  unsigned threads = 0;  // Of network input and output; 0: one for each core.
  std::size_t max_connections = 10'000;
  std::size_t max_header_bytes = 16U << 10;
  std::size_t max_body_bytes = 1U << 20;
  std::size_t max_document_bytes = 1U << 20;    // Body of a document.
  std::size_t max_bodies_bytes = 256U << 20;    // Sum of all large bodies.
  std::size_t max_pipelined = 128;              // Unanswered requests of one connection.
  std::size_t max_output_bytes = 1U << 20;      // Of one connection: requested and unsent.
  Duration idle = std::chrono::seconds(75);     // A connection without a request.
  Duration receive = std::chrono::seconds(30);  // From a request's first byte to its last.
  Duration send = std::chrono::seconds(30);     // For the peer to receive a ready answer.
  // From a complete request to its answer, without waiting for claims.
  Duration work = kAttemptLife;
  BrowserRules browsers;
};

class Server {
 public:
  // `handler` and `clock` must outlive it.
  Server(const Settings& settings, Handler& handler, Clock& clock = system_clock());
  ~Server();  // Ends every connection at once.

  // Starts serving at host:port, and returns the URL. Port 0 chooses a free one.
  Result<std::string> listen(const std::string& address);

  // Accepts no further connection or request, and waits until everything is answered, but no longer
  // than `patience`.
  void drain(Duration patience);

  // Ends every connection at once. Later answers are dropped; all handlers must be done before the
  // server is destroyed.
  void stop();

  std::size_t connections() const;
  const Judgement& judgement() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace once::server
