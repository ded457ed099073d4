// Takes screenshots of pages that a queue names. However often a job is delivered and whichever
// worker dies over it, it ends with one picture, whose address is the job's result.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

#include "arguments.h"
#include "job.h"
#include "once/open.h"
#include "once/queues.h"
#include "once/work.h"
#include "program.h"
#include "shooting.h"
#include "stop_on_signal.h"
#include "story.h"
#include "temporary_directory.h"

namespace {

using namespace std::chrono_literals;

using examples::Arguments;
using examples::BadUsage;
using examples::say;
using screenshot_worker::Job;
using screenshot_worker::Studio;

constexpr std::string_view kHelp =
    R"(screenshot_worker: jobs from a queue, one picture each

  screenshot_worker                     five workers in this process, and one that dies
  screenshot_worker work --queue URL    take jobs from a queue until TERM or INT
  screenshot_worker message JOB PAGE    print a message to be sent to the queue
  screenshot_worker list                print the jobs that are done, and their pictures' addresses

  --store URL    a directory, http://HOST:7600, dynamodb://TABLE, redis://HOST; without it the first
                 form makes a directory that goes away, the others use ./screenshots.state
  --shots DIR    where pictures go (./shots; the first form: with its directory)
  --queue URL    work: sqs://QUEUE?region=REGION or amqp://USER:PASSWORD@HOST/QUEUE
  --at-once N    work: so many jobs at a time (1)
  --lease TIME   work: a dead worker's job is another's after so long (30s)
  --render TIME  work: pretend that rendering takes so long (0ms)
  --owner NAME   work: a name for people
  --jobs N       the first form: how many (40)
  --seed N       the first form: what happens when (1)
)";
constexpr examples::Program kProgram("screenshot_worker", kHelp);

void report(const once::DeliveryReport& delivery) {
  const once::Result<Job> job = screenshot_worker::job_in(delivery.message.body);
  std::string line = job ? job->id : "a message that is no job";
  line.append(" ").append(once::name_of(delivery.what));
  if (!delivery.reason.empty()) line.append(": ").append(delivery.reason);
  say(line);
}

int work(const std::string& store, const std::string& queue_address, const Studio& studio,
         const once::WorkerOptions& options) {
  const examples::StopOnSignal signals;
  once::Result<once::Once> once = once::open(store);
  if (!once) return kProgram.fail(once.error());
  const auto queue = once::open_queue(queue_address);
  if (!queue) return kProgram.fail(queue.error());
  once::Worker worker(*once, **queue, options,
                      [&](once::Task& task) { return screenshot_worker::shoot(studio, task); });
  worker.on_delivery(report);
  worker.on_trouble([](const once::Error& error) { kProgram.fail(error); });
  say("working on " + (*queue)->describe());
  return kProgram.status_of(signals.run(worker));
}

int run_work(Arguments& arguments, const std::string& store, const Studio& kept) {
  const std::string queue = arguments.needed("--queue");
  once::WorkerOptions options;
  options.concurrency = arguments.number<std::size_t>("--at-once", 1, 1, 1'000);
  options.lease = arguments.duration("--lease", 30s, 100ms, 1h);
  options.owner = arguments.option("--owner").value_or("pid " + std::to_string(::getpid()));
  Studio studio = kept;
  studio.render_time = arguments.duration("--render", 0ms, 0ms, 10min);
  arguments.end();
  return work(store, queue, studio, options);
}

int run_message(Arguments& arguments) {
  Job job;
  job.id = arguments.word("the job");
  job.page = arguments.word("the page");
  arguments.end();
  const once::Result<std::string> message = screenshot_worker::message_of(job);
  if (!message) throw BadUsage(message.error().message);
  say(*message);
  return 0;
}

int run_list(const Arguments& arguments, const std::string& store, const std::string& stream) {
  arguments.end();
  once::Result<once::Once> once = once::open(store);
  if (!once) return kProgram.fail(once.error());
  for (std::int64_t from = 1;;) {
    const auto page = once->log().read(stream, {.from = from});
    if (!page) return kProgram.fail(page.error());
    if (page->events.empty()) return 0;
    for (const once::LogEntry& entry : page->events) say(entry.data);
    from = page->next;
  }
}

int run_story(Arguments& arguments, const std::optional<std::string>& store,
              const std::optional<std::string>& shots) {
  const auto jobs = arguments.number<int>("--jobs", 40, 1, 10'000);
  const std::uint32_t seed = arguments.seed();
  arguments.end();
  const examples::TemporaryDirectory directory;
  const std::filesystem::path kept =
      shots ? std::filesystem::path(*shots) : directory.path() / "shots";
  std::filesystem::create_directories(kept);
  auto once = once::open(store.value_or((directory.path() / "state").string()));
  if (!once) return kProgram.fail(once.error());
  const once::Result<bool> fine = screenshot_worker::tell_story(*once, kept, jobs, seed);
  return kProgram.status_of(fine);
}

int run(Arguments& arguments) {
  const std::optional<std::string> store = arguments.option("--store");
  const std::optional<std::string> shots = arguments.option("--shots");
  if (!arguments.has_words()) return run_story(arguments, store, shots);
  const Studio studio{.shots = shots.value_or("./shots")};
  const std::string verb = arguments.word("what to do");
  const std::string shared = store.value_or("./screenshots.state");
  if (verb == "work") return run_work(arguments, shared, studio);
  if (verb == "message") return run_message(arguments);
  if (verb == "list") return run_list(arguments, shared, studio.stream);
  throw BadUsage("there is no '" + verb + "'");
}

}  // namespace

int main(int argc, char** argv) { return kProgram.main(argc, argv, run); }
