// Counts the proxy's requests and answers, and writes journal lines for them, as the server does
// for its own.
#pragma once

#include "server/handler.h"
#include "server/observer.h"

namespace once::proxy {

class ObservedHandler final : public server::Handler {
 public:
  // Both must outlive it, and `observer` what `inner` has under way.
  ObservedHandler(server::Handler& inner, server::Observer& observer)
      : inner_(inner), observer_(observer) {}

  // A request whose trace is recorded goes on as one of the span that it is here.
  server::Reply respond(api::Request request, Executor& executor, ReplyCallback later) override;
  void refused(api::Response& response) override { observer_.refused(response); }

 private:
  server::Handler& inner_;
  server::Observer& observer_;
};

// `headers` with this as the one traceparent.
api::Headers with_trace(const api::Headers& headers, const server::Trace& trace);

}  // namespace once::proxy
