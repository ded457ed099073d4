// Answers requests by the API, whose plans it runs on a driver.
#pragma once

#include <atomic>

#include "api/call.h"
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
  Admission admit(const api::Request& request) override;
  api::BodyLimit body_limit(std::string_view method, std::string_view target) const override;
  FollowHub* hub() override { return &hub_; }
  void hung_up(Executor& executor) override { driver_.cancel(executor); }
  // For requests that begin from now on.
  void set_work(Duration work) { work_ = work; }
  void refused(api::Response& response) override { observer_.refused(response); }

 private:
  class Underway;

  Reply proceed(api::Resolved& resolved, api::Request& request, Executor& executor,
                const std::shared_ptr<Underway>& underway, ReplyCallback later);
  Reply respond_later(api::Request request, const api::Resolved& resolved, Executor& executor,
                      const std::shared_ptr<Underway>& underway, ReplyCallback later);
  Result<void> start_later(api::Answer answer, const std::string& name_space, Executor& executor,
                           const std::shared_ptr<Underway>& underway, ReplyCallback later);
  Result<void> start(api::Answer answer, const std::string& name_space, Executor& executor,
                     const std::shared_ptr<Underway>& underway, ReplyCallback later);
  void start_or_refuse(api::Answer answer, const std::string& name_space, Executor& executor,
                       const std::shared_ptr<Underway>& underway, ReplyCallback later);
  Reply start(api::Deferred deferred, const api::Request& request, const std::string& name_space,
              const std::shared_ptr<Underway>& underway, std::optional<Duration> limit,
              ReplyCallback later);
  void wake_followers(const std::string& name_space, const api::Telemetry& telemetry);

  api::Service& service_;
  BatchingDriver& driver_;
  FollowHub& hub_;
  Observer& observer_;
  std::atomic<Duration> work_;
};

}  // namespace once::server
