// A server in this process, on a store that a test holds in its hands.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "events/event_service.h"
#include "once/batching_driver.h"
#include "server/responder.h"
#include "server/server.h"

namespace once::testing {

class InProcessServer {
 public:
  explicit InProcessServer(Store& store, api::ServiceOptions options = {})
      : service_(std::move(options)), driver_(std::make_unique<BatchingDriver>(store)) {
    service_.set_event_receiver(events_);
    const Result<std::string> url = server_.listen("127.0.0.1:0");
    if (!url) std::abort();
    url_ = *url;
    service_.set_url(url_);
  }
  ~InProcessServer() {
    server_.stop();
    events_.stop();
    hub_.stop();
    driver_.reset();
  }
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  const std::string& url() const { return url_; }
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoi(url_.substr(url_.rfind(':') + 1)));
  }

 private:
  api::Service service_;
  server::Journal journal_{{}};
  server::Observer observer_{service_.metrics(), journal_};
  std::unique_ptr<BatchingDriver> driver_;
  server::FollowHub hub_{*driver_, system_clock()};
  events::EventService events_{*driver_, {}};
  server::Responder responder_{service_, *driver_, hub_, observer_, kAttemptLife};
  server::Server server_{{.threads = 2}, responder_};
  std::string url_;
};

}  // namespace once::testing
