// The HTTP server: listens, and gives each connection to one of its threads.
#pragma once

#include <memory>
#include <string>

#include "server/handler.h"
#include "server/settings.h"

namespace once::server {

class Server {
 public:
  // `handler` and `clock` must outlive it.
  Server(Settings settings, Handler& handler, Clock& clock = system_clock());
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

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace once::server
