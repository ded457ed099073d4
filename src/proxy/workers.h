// The proxy's handler: a pool of threads, each with one request at a time.
#pragma once

#include <memory>

#include "base/work_queue.h"
#include "proxy/exchange.h"
#include "server/handler.h"

namespace once::proxy {

class Workers final : public server::Handler {
 public:
  // `make` is called for each of `count` threads, before they start. Four times as many requests
  // may wait.
  Workers(std::size_t count, const std::function<std::unique_ptr<Exchange>()>& make);

  // Takes no more requests, and completes those that it has: their answers are stored even if their
  // clients left. Call it before the server that takes the answers ends.
  void finish() { queue_.finish(); }

  // 503 `overloaded` when too many wait, or after finish().
  server::Reply respond(api::Request request, Executor& executor, ReplyCallback later) override;

 private:
  struct Job {
    api::Request request;
    ReplyCallback done;
  };

  WorkQueue<Job> queue_;
};

}  // namespace once::proxy
