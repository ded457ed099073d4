// event_builder: what to read first is handle() in build.cc.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "arguments.h"
#include "build.h"
#include "http.h"
#include "once/open.h"
#include "once/queues.h"
#include "program.h"
#include "stop_on_signal.h"
#include "story.h"
#include "temporary_directory.h"

namespace {

using namespace event_builder;
using namespace std::chrono_literals;

using examples::Arguments;
using examples::BadUsage;
using examples::say;

constexpr std::string_view kHelp =
    R"(event_builder: builds what CloudEvents ask for, once, though they come twice and builds fail

  event_builder [--store DIR]                   the whole story in one process, checked
  event_builder work QUEUE --store STORE        builds the events of a queue: amqp://broker/builds
  event_builder serve [--listen PORT]           builds what 'once serve --config once.toml' forwards
  event_builder events                          events to send, a line each

  --store STORE     a directory, memory:, http://host:7600, redis://host, dynamodb://table?region=...;
                    the story wants a directory, or makes a temporary one
  --ttl 24h         how long an event of the queue is known; a queue for each type has its own
  --lease 30s       how long other builders wait when this one dies
  --concurrency 4   builds at once
  --listen 8080     a port of this machine's own address
  --count 80        events
  --seed 1          of the events, and of what goes wrong in the story

Example: event_builder
)";
constexpr examples::Program kProgram("event_builder", kHelp);

std::size_t concurrency_of(Arguments& arguments) {
  return arguments.number<std::size_t>("--concurrency", 4, 1, 1'000);
}

std::size_t count_of(Arguments& arguments) {
  return arguments.number<std::size_t>("--count", 80, 1, 100'000);
}

void report(const once::DeliveryReport& delivery) {
  std::string line(once::name_of(delivery.what));
  say(line.append(" ").append(delivery.key).append(" ").append(delivery.reason));
}

int work(const std::string& store, const std::string& queue_address,
         const once::WorkerOptions& options) {
  const examples::StopOnSignal signals;
  auto once = once::open(store, "event_builder");
  if (!once) return kProgram.fail(once.error());
  const auto queue = once::open_queue(queue_address);
  if (!queue) return kProgram.fail(queue.error());
  once::Worker worker(*once, **queue, options, handle);
  worker.on_delivery(report);
  worker.on_trouble([](const once::Error& error) { kProgram.fail(error); });
  say("working on " + (*queue)->describe());
  return kProgram.status_of(signals.run(worker));
}

int run_work(Arguments& arguments) {
  constexpr once::Duration kYears = 10 * 365 * 24h;
  const std::string store = arguments.needed("--store");
  const once::WorkerOptions options{.concurrency = concurrency_of(arguments),
                                    .lease = arguments.duration("--lease", 30s, 100ms, 1h),
                                    .ttl = arguments.duration("--ttl", 24h, 1ms, kYears),
                                    .first_delay = 250ms};
  const std::string queue = arguments.word("the queue");
  arguments.end();
  return work(store, queue, options);
}

// Behind `once serve`, which lets each event through once: all that is left to do is to build.
int build_request(const Request& request) {
  const auto event = event_of(request.headers, request.body);
  if (!event) return 422;
  const auto told = request.headers.find("once-attempt");
  const long attempt =
      told != request.headers.end() ? std::strtol(told->second.c_str(), nullptr, 10) : 1;
  const auto image = build(*event, attempt, {});
  say(image ? *image : image.error().message);
  return image ? 200 : 500;  // A failure frees the event's key: its sender may send it again.
}

int run_serve(Arguments& arguments) {
  const auto port = arguments.number<std::uint16_t>("--listen", 8080, 0, 65'535);
  const std::size_t concurrency = concurrency_of(arguments);
  arguments.end();
  const auto endpoint = HttpEndpoint::listen(port);
  if (!endpoint) return kProgram.fail(endpoint.error());
  say("listening at http://127.0.0.1:" + std::to_string(endpoint->port()) + "/");
  endpoint->serve(concurrency, build_request);
  return 0;
}

int run_events(Arguments& arguments) {
  const std::size_t count = count_of(arguments);
  const std::uint32_t seed = arguments.seed();
  arguments.end();
  for (const Event& event : make_events(count, seed)) say(to_json(event));
  return 0;
}

int run_story(Arguments& arguments) {
  const std::optional<std::string> store = arguments.option("--store");
  const std::size_t count = count_of(arguments);
  const std::uint32_t seed = arguments.seed();
  arguments.end();
  const examples::TemporaryDirectory temporary;
  const auto directory = store ? once::directory_of(*store) : temporary.path();
  if (!directory) throw BadUsage("the story takes a directory; work takes any store");
  return kProgram.status_of(tell_story({.directory = *directory, .events = count, .seed = seed}));
}

int run(Arguments& arguments) {
  if (!arguments.has_words()) return run_story(arguments);
  const std::string verb = arguments.word("what to do");
  if (verb == "work") return run_work(arguments);
  if (verb == "serve") return run_serve(arguments);
  if (verb == "events") return run_events(arguments);
  throw BadUsage("there is no '" + verb + "'");
}

}  // namespace

int main(int argc, char** argv) { return kProgram.main(argc, argv, run); }
