// The API in this process, on a store: a service with a driver of its own, called one request at a
// time. For commands and the proxy; a server parks requests instead (server/responder.h).
#pragma once

#include <utility>

#include "api/service.h"

namespace once::api {

// Safe to share between threads, as both drivers are.
template <class Driver>
class InProcess {
 public:
  // `store`, and what the options point to, must outlive it.
  explicit InProcess(Store& store, ServiceOptions options = {})
      : driver_(store), service_(std::move(options)) {}

  // An error is the driver's: the time is over. `within` is in addition to how long the request
  // asks to wait.
  Result<Response> call(const Request& request, Duration within = kAttemptLife) {
    Answer answer = service_.respond(request);
    if (auto* ready = std::get_if<Response>(&answer)) return std::move(*ready);
    const Duration patience = answer.waits + within;
    return driver_.run(std::get<Plan<Response>>(std::move(answer)), patience);
  }

 private:
  Driver driver_;
  Service service_;
};

}  // namespace once::api
