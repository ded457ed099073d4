// The HTTP server: listens, and hands each connection to one of its threads.
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

  // Serves from now on. `address` is host:port; port 0 chooses one. Answers the URL.
  Result<std::string> listen(const std::string& address);

  // Takes no further connection or request, and waits until all that is owed is answered, but no
  // longer than `patience`.
  void drain(Duration patience);

  // Ends every connection at once. Answers that are still under way go nowhere: whoever gives them
  // must end before the server is destroyed.
  void stop();

  std::size_t connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace once::server
