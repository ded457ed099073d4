#include "work/door/serve.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/printable_address.h"
#include "once/queues.h"
#include "server/lifetime.h"
#include "server/mark_watch.h"
#include "server/metrics_page.h"
#include "server/status_report.h"
#include "work/door/command.h"
#include "work/door/http.h"
#include "work/door/watch.h"

namespace once::work {
namespace {

using server::Level;

// timeout(1) and shells send one to the process and one to its group: those are one.
constexpr auto kOneSignal = std::chrono::seconds(1);

// The first signal lets the worker finish, the second does not: then the guardian ends what runs.
class Signals {
 public:
  Signals(const sigset_t& signals, Worker& worker)
      : thread_([this, signals, &worker] {
          std::optional<std::chrono::steady_clock::time_point> first;
          for (;;) {
            const int signal = server::wait_for(signals);
            if (over_) return;
            const auto now = std::chrono::steady_clock::now();
            if (first && now - *first > kOneSignal) ::_exit(128 + signal);
            if (!first) first = now;
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

Result<Handler> handler_of(const ServeOptions& options, const process::Guardian& guardian) {
  if (!options.http.empty())
    return http_handler(options.http, options.http_timeout, options.http_tls);
  return command_handler(options.command, options.worker.lease, guardian);
}

// A message that is delivered once more after its outcome is forgotten is handled once more.
void warn_of_replays(server::Journal& journal, Queue& queue, Duration ttl) {
  const Result<std::optional<Duration>> kept = queue.retention();
  if (!kept || (*kept && **kept <= ttl)) return;
  auto line = journal.line(Level::warning, "ttl_below_retention");
  line.text("reason",
            "the queue keeps messages for longer than done ones are known: one that is delivered "
            "again after --ttl is handled again");
  line.integer("ttl_seconds", std::chrono::floor<std::chrono::seconds>(ttl).count());
  if (*kept) {
    line.integer("retention_seconds", std::chrono::floor<std::chrono::seconds>(**kept).count());
  }
}

void warn_of_losses(server::Journal& journal, Queue& queue) {
  const Result<std::vector<std::string>> warnings = queue.warnings();
  if (!warnings) return;
  for (const std::string& warning : *warnings) {
    journal.line(Level::warning, "queue_may_lose_messages").text("reason", warning);
  }
}

void write_gauges(metrics::Exposition& out, const Watch& watch, const Worker& worker) {
  constexpr auto kGauge = metrics::Exposition::Type::gauge;
  out.family("once_work_under_way", "Messages that are here and not done", kGauge);
  out.sample({}, static_cast<std::uint64_t>(worker.under_way()));
  out.family("once_work_queue_depth", "About how many messages wait in the queue", kGauge);
  if (const auto depth = watch.depth()) out.sample({}, *depth);
  out.family("once_work_lag_seconds", "Since the oldest message under way was sent", kGauge);
  if (const auto lag = worker.lag()) {
    out.sample({}, std::chrono::duration<double>(*lag).count());
  }
}

}  // namespace

Result<void> serve(const ServeOptions& options,
                   const std::function<void(const std::string&)>& ready) {
  const auto certificate = server::read_certificate(
      {.address = options.metrics_listen, .tls = options.metrics_tls, .plain_http = true});
  if (!certificate) return std::unexpected(certificate.error());
  const sigset_t signals = server::hold_signals();
  const Result<process::Guardian> guardian = process::Guardian::start();
  if (!guardian) return std::unexpected(guardian.error());
  Result<Handler> handler = handler_of(options, *guardian);
  if (!handler) return std::unexpected(std::move(handler.error()));
  Result<Once> once = options.open();
  if (!once) return std::unexpected(std::move(once.error()));
  const Result<std::unique_ptr<Queue>> queue = open_queue(options.queue);
  if (!queue) return std::unexpected(queue.error());
  server::Journal journal(StatusLine::above(options.journal));
  const server::MarkWatch mark_watch(once->store(), journal);
  if (Result<void> marked = mark_watch.check(); !marked) return marked;
  metrics::Registry registry;
  Watch watch(registry, journal);
  Worker worker(*once, **queue, options.worker, std::move(*handler));
  worker.on_delivery([&](const DeliveryReport& report) { watch.delivered(report); });
  worker.on_trouble([&](const Error& error) { watch.trouble(error); });
  const metrics::Registry::Collecting gauges(
      registry, [&](metrics::Exposition& out) { write_gauges(out, watch, worker); });
  server::MetricsServer watchers(registry);
  const Result<std::string> told = watchers.listen_if_asked(options.metrics_listen, *certificate);
  if (!told) return std::unexpected(told.error());
  ready("once: working on " + (*queue)->describe() + ", with " + printable_address(options.store) +
        "; " + std::to_string(options.worker.concurrency) + " at once" + *told);
  warn_of_replays(journal, **queue, options.worker.ttl);
  warn_of_losses(journal, **queue);
  const Signals stopping(signals, worker);
  const StatusLine status(watch, worker);
  const server::StatusReport report(once->documents(), [&] {
    watch.set_depth((*queue)->depth().value_or(std::nullopt));
    wire::WorkerStatus now = watch.status();
    now.name = (*queue)->describe();
    now.in_flight = static_cast<std::int64_t>(worker.under_way());
    now.lag = worker.lag();
    return now;
  });
  return worker.run();
}

}  // namespace once::work
