// event_builder: what to read first is handle() in build.cc.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "build.h"
#include "http.h"
#include "once/open.h"
#include "once/queues.h"
#include "options.h"
#include "story.h"

namespace event_builder {
namespace {

using once::Result;

// A build that is under way is finished, and no other is begun, when somebody asks for the end.
void stop_when_asked(once::Worker& worker, const std::stop_token& over, const sigset_t& signals) {
  constexpr timespec kLook = {.tv_sec = 0, .tv_nsec = 100'000'000};
  while (!over.stop_requested()) {
    if (::sigtimedwait(&signals, nullptr, &kLook) > 0) worker.stop();
  }
}

Result<bool> run_work(const Options& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // Before there are other threads.
  auto once = once::open(options.store, "event_builder");
  if (!once) return std::unexpected(once.error());
  const auto queue = once::open_queue(options.queue);
  if (!queue) return std::unexpected(queue.error());
  once::Worker worker(*once, **queue,
                      {.concurrency = options.concurrency,
                       .lease = options.lease,
                       .ttl = options.ttl,
                       .first_delay = std::chrono::milliseconds(250)},
                      handle);
  worker.on_delivery([](const once::DeliveryReport& report) {
    std::printf("%s %s %s\n", std::string(once::name_of(report.what)).c_str(), report.key.c_str(),
                report.reason.c_str());
    std::fflush(stdout);
  });
  worker.on_trouble([](const once::Error& error) {
    std::fprintf(stderr, "event_builder: %s\n", error.message.c_str());
  });
  std::printf("event_builder: builds what comes to %s\n", (*queue)->describe().c_str());
  std::fflush(stdout);
  const std::jthread stopper(
      [&](const std::stop_token& over) { stop_when_asked(worker, over, signals); });
  const auto ended = worker.run();
  if (!ended) return std::unexpected(ended.error());
  return true;
}

// Behind `once serve`, which lets each event through once: all that is left to do is to build.
int build_request(const Request& request) {
  const auto event = event_of(request.headers, request.body);
  if (!event) return 422;
  const auto told = request.headers.find("once-attempt");
  const long attempt =
      told != request.headers.end() ? std::strtol(told->second.c_str(), nullptr, 10) : 1;
  const auto image = build(*event, attempt, {});
  std::printf("%s\n", image ? image->c_str() : image.error().message.c_str());
  std::fflush(stdout);
  return image ? 200 : 500;  // A failure frees the event's key: whoever sent it may send it again.
}

Result<bool> run_serve(const Options& options) {
  const auto endpoint = HttpEndpoint::listen(options.listen);
  if (!endpoint) return std::unexpected(endpoint.error());
  std::printf("event_builder: builds what is sent to http://127.0.0.1:%d/\n", endpoint->port());
  std::fflush(stdout);
  endpoint->serve(options.concurrency, build_request);
  return true;
}

Result<bool> run_story(const Options& options) {
  StoryOptions story{.directory = {}, .events = options.count, .seed = options.seed};
  if (!options.store.empty()) {
    const auto directory = once::directory_of(options.store);
    if (!directory) {
      return once::failure(once::ErrorCode::invalid,
                           "the story takes a directory; work takes any store");
    }
    story.directory = *directory;
    return tell_story(story);
  }
  std::string name = (std::filesystem::temp_directory_path() / "event_builder-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return once::failure(once::ErrorCode::unavailable, "no temporary directory can be made");
  }
  story.directory = name;
  auto right = tell_story(story);
  std::error_code ignored;
  std::filesystem::remove_all(name, ignored);
  return right;
}

Result<bool> run_events(const Options& options) {
  for (const Event& event : make_events(options.count, options.seed)) {
    std::printf("%s\n", to_json(event).c_str());
  }
  return std::fflush(stdout) == 0;
}

int run_main(int argc, char** argv) {
  const Result<Options> options = parse_options(argc, argv);
  if (!options) {
    std::fprintf(stderr, "event_builder: %s; see event_builder --help\n",
                 options.error().message.c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(help().c_str(), stdout);
    return 0;
  }
  const Result<bool> right = options->role == "work"     ? run_work(*options)
                             : options->role == "serve"  ? run_serve(*options)
                             : options->role == "events" ? run_events(*options)
                                                         : run_story(*options);
  if (!right) std::fprintf(stderr, "event_builder: %s\n", right.error().message.c_str());
  return right && *right ? 0 : 1;
}

}  // namespace
}  // namespace event_builder

int main(int argc, char** argv) { return event_builder::run_main(argc, argv); }
