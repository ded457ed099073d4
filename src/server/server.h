// The HTTP server: listens, and gives each connection to one of its threads. Every size, count and
// wait has a limit.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "net/tls.h"
#include "once/time.h"
#include "once/write.h"
#include "server/budget.h"
#include "server/connection_seats.h"
#include "server/handler.h"
#include "server/judgement.h"

namespace once::server {

struct Settings {
  unsigned threads = 0;  // Of network input and output; 0: one for each core.
  std::size_t max_connections = 10'000;
  // From one address, or one network of IPv6 (/64). 0: nine tenths of all, so that a balancer may
  // have nearly all of them, and still no single address locks the others out. Then loopback may
  // have all.
  std::size_t max_connections_per_address = 0;
  std::size_t max_header_bytes = 16U << 10;
  std::size_t max_body_bytes = 1U << 20;
  std::size_t max_document_bytes = 1U << 20;      // Body of a document.
  std::size_t max_bodies_bytes = 256U << 20;      // Sum of all large bodies.
  std::size_t max_pipelined = 128;                // Unanswered requests of one connection.
  std::size_t max_output_bytes = 1U << 20;        // Of one connection: requested and unsent.
  std::size_t max_unsent_bytes = 256U << 20;      // Sum of all unsent answers.
  unsigned namespace_share = kUsualShare;         // Percent of either sum, for one namespace.
  std::size_t max_waiting_of_namespace = 2'500;   // Claims that wait for a key.
  std::size_t long_work_threads = 0;              // 0: one for each core, and at least 3.
  std::size_t max_long_work_of_namespace = 256;   // Waiting; more is refused.
  Duration handshake = std::chrono::seconds(10);  // Of TLS.
  Duration idle = std::chrono::seconds(75);       // A connection without a request.
  Duration receive = std::chrono::seconds(30);    // From a request's first byte to its last.
  Duration send = std::chrono::seconds(30);       // For the peer to receive a ready answer.
  // From a complete request to its answer, without waiting for claims.
  Duration work = kAttemptLife;
  BrowserRules browsers;
  std::shared_ptr<const net::TlsServerContext> tls;  // Null: plain HTTP.
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

  // For how long no connection has had a request, an answer or a follower, give or take a second.
  Duration idle_for() const;

  // Ends every connection at once. Later answers are dropped; all handlers must be done before the
  // server is destroyed.
  void stop();

  // Limits, time-outs and certificates become those of `fresh`, also for connections that are open;
  // these keep the certificate that they began with. The number of threads, what browsers may do,
  // and whether there is TLS stay as they are.
  void apply(const Settings& fresh);

  std::size_t connections() const;
  const Budgets& budgets() const;
  std::uint64_t refused_connections(ConnectionRefusal why) const;
  // Of the certificate; nothing without TLS.
  std::optional<Time> certificate_expires() const;
  const Judgement& judgement() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace once::server
