// What a server does with requests: it knows the API and a driver, and no sockets.
#pragma once

#include <functional>
#include <optional>

#include "api/follow.h"
#include "api/service.h"
#include "once/batching_driver.h"
#include "server/follow_hub.h"
#include "server/observer.h"

namespace once::server {

// Safe to share between threads. All must outlive it.
class Responder {
 public:
  using Done = std::move_only_function<void(api::Response)>;

  Responder(api::Service& service, BatchingDriver& driver, FollowHub& hub, Observer& observer)
      : service_(service), driver_(driver), hub_(hub), observer_(observer) {}

  // The answer if it is there at once; otherwise `later` gets it, on the driver's thread.
  std::optional<api::Response> respond(const api::Request& request, Done later);

  // What the request wants to follow, if it is a follower's.
  std::expected<std::optional<api::Following>, api::Response> following(
      const api::Request& request);
  FollowHub& hub() { return hub_; }
  Observer& observer() { return observer_; }

 private:
  api::Service& service_;
  BatchingDriver& driver_;
  FollowHub& hub_;
  Observer& observer_;
};

}  // namespace once::server
