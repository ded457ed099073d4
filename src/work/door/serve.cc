#include "work/door/serve.h"

#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

#include "once/open.h"
#include "once/queues.h"
#include "server/lifetime.h"
#include "work/door/command.h"
#include "work/door/http.h"

namespace once::work {
namespace {

using server::Level;

constexpr Duration kTurn = std::chrono::seconds(10);  // For a directory that another has open.

Level level_of(Delivered what) {
  switch (what) {
    case Delivered::handled:
    case Delivered::duplicate:
    case Delivered::busy: return Level::info;
    case Delivered::failed:
    case Delivered::lost:
    case Delivered::returned: return Level::warning;
    case Delivered::dead: return Level::error;
  }
  return Level::info;
}

void write_line(server::Journal& journal, const DeliveryReport& report) {
  auto line = journal.line(level_of(report.what), name_of(report.what));
  line.text("key", report.key).text("message", report.message.id);
  line.integer("delivery", report.message.deliveries).milliseconds("taken", report.taken);
  if (!report.reason.empty()) line.text("reason", report.reason);
}

// The first signal lets the worker finish, the second does not: then the guardian ends what runs.
class Signals {
 public:
  Signals(const sigset_t& signals, Worker& worker)
      : thread_([this, signals, &worker] {
          for (int count = 0;; ++count) {
            const int signal = server::wait_for(signals);
            if (over_) return;
            if (count > 0) ::_exit(128 + signal);
            worker.stop();
          }
        }) {}
  ~Signals() {
    over_ = true;
    (void)::kill(::getpid(), SIGTERM);  // Held everywhere but there.
    thread_.join();
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

Result<Handler> handler_of(const ServeOptions& options, const Guardian& guardian) {
  if (!options.http.empty()) return http_handler(options.http, options.http_timeout);
  return command_handler(options.command, guardian);
}

}  // namespace

Result<void> serve(const ServeOptions& options,
                   const std::function<void(const std::string&)>& ready) {
  const sigset_t signals = server::hold_signals();
  const Result<Guardian> guardian = Guardian::start();
  if (!guardian) return std::unexpected(guardian.error());
  Result<Handler> handler = handler_of(options, *guardian);
  if (!handler) return std::unexpected(std::move(handler.error()));
  Result<Once> once =
      open(options.store, options.name_space, {.wait_for_turn = kTurn, .token = options.token});
  if (!once) return std::unexpected(std::move(once.error()));
  const Result<std::unique_ptr<Queue>> queue = open_queue(options.queue);
  if (!queue) return std::unexpected(queue.error());
  server::Journal journal(options.journal);
  Worker worker(*once, **queue, options.worker, std::move(*handler));
  worker.on_delivery([&](const DeliveryReport& report) { write_line(journal, report); });
  worker.on_trouble([&](const Error& error) {
    journal.line(Level::warning, "trouble").text("reason", error.message);
  });
  ready("once: working on " + (*queue)->describe() + ", with " + options.store + "; " +
        std::to_string(options.worker.concurrency) + " at once");
  const Signals stopping(signals, worker);
  return worker.run();
}

}  // namespace once::work
