// A fixed number of threads that each carry one request at a time, and a queue with an end.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "kernel/mutex.h"
#include "proxy/exchange.h"
#include "server/handler.h"

namespace once::proxy {

class Workers final : public server::Handler {
 public:
  // `make` is called for each of `count` threads, before they start. Four times as many requests
  // may wait.
  Workers(std::size_t count, const std::function<std::unique_ptr<Exchange>()>& make);

  ~Workers() override { finish(); }

  // Takes no more, and carries to its end what was taken: an answer is stored even if nobody waits
  // for it any more. Before whatever the answers go to is gone.
  void finish();

  // 503 `overloaded` when too many wait, or it is over.
  std::optional<api::Response> respond(api::Request request, Home& home, Done later) override;

 private:
  struct Job {
    api::Request request;
    Done done;
  };

  void work(Exchange& exchange);
  std::optional<Job> next();

  const std::size_t max_waiting_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;

  Mutex mutex_;
  std::condition_variable signal_;
  std::deque<Job> waiting_ ONCE_GUARDED_BY(mutex_);
  bool ending_ ONCE_GUARDED_BY(mutex_) = false;

  std::vector<std::thread> threads_;  // Last: they use all of the above.
};

}  // namespace once::proxy
