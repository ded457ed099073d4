// The API's answers: knows the API and a driver.
#pragma once

#include "api/service.h"
#include "events/door.h"
#include "once/batching_driver.h"
#include "server/handler.h"
#include "server/observer.h"

namespace once::server {

// Safe to share between threads. All must outlive it.
class Responder final : public Handler {
 public:
  // A request may take as long as `work`, and what it waits for others.
  Responder(api::Service& service, BatchingDriver& driver, FollowHub& hub, Observer& observer,
            events::Door& door, Duration work)
      : service_(service),
        driver_(driver),
        hub_(hub),
        observer_(observer),
        door_(door),
        work_(work) {}

  Reply respond(api::Request request, Home& home, Done later) override;
  std::optional<api::Response> refusal(const api::Request& request) override;
  std::expected<std::optional<api::Following>, api::Response> following(
      const api::Request& request) override;
  FollowHub* hub() override { return &hub_; }
  void refused(api::Response& response) override { observer_.refused(response); }

 private:
  class Underway;

  void receive(api::EventRequest events, const api::Request& request,
               const std::shared_ptr<Underway>& underway, Done later);

  api::Service& service_;
  BatchingDriver& driver_;
  FollowHub& hub_;
  Observer& observer_;
  events::Door& door_;
  const Duration work_;
};

}  // namespace once::server
