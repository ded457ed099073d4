// As much of an HTTP server as the builder needs behind `once serve`: a POST at a time for each
// thread, on this machine's own address, an answer that is a status, and the connection is over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "event.h"
#include "once/error.h"

namespace event_builder {

struct Request {
  Attributes headers;  // Names in lower case.
  std::string body;
};

class HttpEndpoint {
 public:
  // At port 0, one is chosen.
  static once::Result<HttpEndpoint> listen(std::uint16_t port);

  std::uint16_t port() const { return port_; }

  // For ever. `answer` is called on several threads at once and gives a status.
  void serve(std::size_t threads, const std::function<int(const Request&)>& answer) const;

 private:
  HttpEndpoint(int socket, std::uint16_t port) : socket_(socket), port_(port) {}

  int socket_;  // Ends with the process.
  std::uint16_t port_;
};

}  // namespace event_builder
