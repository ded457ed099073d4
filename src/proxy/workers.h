// The handler of the proxy: threads that each carry one request at a time.
#pragma once

#include <memory>

#include "drivers/work_queue.h"
#include "proxy/exchange.h"
#include "server/handler.h"

namespace once::proxy {

class Workers final : public server::Handler {
 public:
  // `make` is called for each of `count` threads, before they start. Four times as many requests
  // may wait.
  Workers(std::size_t count, const std::function<std::unique_ptr<Exchange>()>& make);

  // Takes no more, and carries to its end what was taken: an answer is stored even if nobody waits
  // for it any more. Before whatever the answers go to is gone.
  void finish() { queue_.finish(); }

  // 503 `overloaded` when too many wait, or it is over.
  server::Reply respond(api::Request request, Home& home, Done later) override;

 private:
  struct Job {
    api::Request request;
    Done done;
  };

  WorkQueue<Job> queue_;
};

}  // namespace once::proxy
