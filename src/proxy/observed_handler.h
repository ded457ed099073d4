// Counts the proxy's requests and answers, and writes journal lines for them, as the server does
// for its own.
#pragma once

#include <atomic>

#include "server/handler.h"
#include "server/observer.h"
#include "wire/worker_status.h"

namespace once::proxy {

class ObservedHandler final : public server::Handler {
 public:
  // Both must outlive it, and `observer` what `inner` has under way.
  ObservedHandler(server::Handler& inner, server::Observer& observer)
      : inner_(inner), observer_(observer) {}

  // A request whose trace is recorded goes on as one of the span that it is here.
  server::Reply respond(api::Request request, Executor& executor, ReplyCallback later) override;
  void refused(api::Response& response) override { observer_.refused(response); }

  // What came of the requests so far: kind and numbers alone.
  wire::WorkerStatus status() const;

 private:
  void count(const api::Response& response);

  server::Handler& inner_;
  server::Observer& observer_;
  std::atomic<std::int64_t> done_ = 0;
  std::atomic<std::int64_t> replayed_ = 0;
  std::atomic<std::int64_t> failed_ = 0;
};

// `headers` with this as the one traceparent.
api::Headers with_trace(const api::Headers& headers, const server::Trace& trace);

}  // namespace once::proxy
