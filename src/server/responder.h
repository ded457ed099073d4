// Answers requests by the API, whose plans it runs on a driver.
#pragma once

#include "api/service.h"
#include "once/batching_driver.h"
#include "server/handler.h"
#include "server/observer.h"

namespace once::server {

// Safe to share between threads. All must outlive it.
class Responder final : public Handler {
 public:
  // A request may take as long as `work`, besides the time it waits for others.
  Responder(api::Service& service, BatchingDriver& driver, FollowHub& hub, Observer& observer,
            Duration work)
      : service_(service), driver_(driver), hub_(hub), observer_(observer), work_(work) {}

  Reply respond(api::Request request, Executor& executor, ReplyCallback later) override;
  std::optional<api::Response> refusal(const api::Request& request) override;
  api::BodyLimit body_limit(std::string_view method, std::string_view target) const override;
  FollowHub* hub() override { return &hub_; }
  void refused(api::Response& response) override { observer_.refused(response); }

 private:
  class Underway;

  Reply start(api::Deferred deferred, const api::Request& request, const std::string& name_space,
              const std::shared_ptr<Underway>& underway, ReplyCallback later);
  void wake_followers(const std::string& name_space, const api::Telemetry& telemetry);

  api::Service& service_;
  BatchingDriver& driver_;
  FollowHub& hub_;
  Observer& observer_;
  const Duration work_;
};

}  // namespace once::server
