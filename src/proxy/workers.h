// The proxy's handler: a pool of threads, each with one request at a time.
#pragma once

#include <atomic>
#include <memory>

#include "base/work_queue.h"
#include "proxy/exchange.h"
#include "server/handler.h"

namespace once::proxy {

struct WorkersOptions {
  std::size_t workers = 64;  // Requests at the upstream at once. Four times as many may wait.

  // Requests whose answers wait for clients that read slowly, besides the workers. Beyond them such
  // an answer is cut off.
  std::size_t slow_readers = 256;
};

class Workers final : public server::Handler, private SlowReaders {
 public:
  // `make` is called for each thread; those of slow readers start when they are needed.
  Workers(const WorkersOptions& options, std::function<std::unique_ptr<Exchange>()> make);

  // Takes no more requests, and completes those that it has: their answers are stored even if their
  // clients left. Call it before the server that takes the answers ends.
  void finish() { queue_.finish(); }

  // Requests that are at the upstream, or wait for that.
  std::size_t under_way() const { return queue_.running() + queue_.waiting(); }

  // How many answers wait for slow clients, and how many were cut off because too many did.
  std::size_t slow_readers() const { return queue_.stalled(); }
  std::uint64_t cut_off() const { return cut_off_; }

  // 503 `overloaded` when too many wait, of all or of one connection, or after finish().
  server::Reply respond(api::Request request, Executor& executor, ReplyCallback later) override;

 private:
  struct Job {
    api::Request request;
    ReplyCallback done;
  };

  bool begin(const api::Request& request) override;
  void end(const api::Request& request) override;

  const std::function<std::unique_ptr<Exchange>()> make_;
  std::atomic<std::uint64_t> cut_off_ = 0;
  WorkQueue<Job> queue_;
};

}  // namespace once::proxy
