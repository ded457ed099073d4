// What a server does with requests: it knows the API and a driver, and no sockets.
#pragma once

#include <functional>
#include <optional>

#include "api/service.h"
#include "once/batching_driver.h"

namespace once::server {

// Safe to share between threads. All must outlive it.
class Responder {
 public:
  using Done = std::move_only_function<void(api::Response)>;

  Responder(api::Service& service, BatchingDriver& driver) : service_(service), driver_(driver) {}

  // The answer if it is there at once; otherwise `later` gets it, on the driver's thread.
  std::optional<api::Response> respond(const api::Request& request, Done later);

 private:
  api::Service& service_;
  BatchingDriver& driver_;
};

}  // namespace once::server
