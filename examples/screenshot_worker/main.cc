// Takes screenshots of pages that a queue names. However often a job is delivered and whichever
// worker dies over it, it ends with one picture, whose address is the job's result.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include "arguments.h"
#include "job.h"
#include "once/open.h"
#include "once/queues.h"
#include "once/work.h"
#include "shooting.h"
#include "story.h"
#include "temporary_directory.h"

namespace {

using examples::Arguments;
using examples::BadUsage;
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
  --lease N      work: a dead worker's job is another's after so many seconds (30)
  --render N     work: pretend that rendering takes so many milliseconds (0)
  --owner NAME   work: a name for people
  --jobs N       the first form: how many (40)
  --seed N       the first form: what happens when (1)
)";

// Whole lines, of several threads.
void say(const std::string& line) { std::cout << (line + "\n") << std::flush; }

int fail(const once::Error& error) {
  std::cerr << "screenshot_worker: " << error.message << '\n';
  return 1;
}

// Lets a worker finish what it is at when TERM or INT comes.
class StopOnSignal {
 public:
  explicit StopOnSignal(once::Worker& worker) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);  // Here, and in the threads that follow.
    thread_ = std::thread([this, &worker] {
      int signal = 0;
      sigwait(&signals_, &signal);
      worker.stop();
    });
  }
  ~StopOnSignal() {
    ::kill(::getpid(), SIGTERM);  // If none came.
    thread_.join();
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  sigset_t signals_{};
  std::thread thread_;
};

void report(const once::DeliveryReport& delivery) {
  const once::Result<Job> job = screenshot_worker::job_in(delivery.message.body);
  std::string line = job ? job->id : "a message that is no job";
  line.append(" ").append(once::name_of(delivery.what));
  if (!delivery.reason.empty()) line.append(": ").append(delivery.reason);
  say(line);
}

int work(const std::string& store, const std::string& queue_address, const Studio& studio,
         const once::WorkerOptions& options) {
  once::Result<once::Once> once = once::open(store);
  if (!once) return fail(once.error());
  const auto queue = once::open_queue(queue_address);
  if (!queue) return fail(queue.error());
  once::Worker worker(*once, **queue, options,
                      [&](once::Task& task) { return screenshot_worker::shoot(studio, task); });
  worker.on_delivery(report);
  worker.on_trouble([](const once::Error& error) { fail(error); });
  const StopOnSignal signals(worker);
  say("working on " + (*queue)->describe());
  const once::Result<void> ended = worker.run();
  return ended ? 0 : fail(ended.error());
}

int run_work(Arguments& arguments, const std::string& store, const Studio& kept) {
  const std::optional<std::string> queue = arguments.option("--queue");
  once::WorkerOptions options;
  options.concurrency = static_cast<std::size_t>(arguments.number("--at-once", 1, 1, 1'000));
  options.lease = std::chrono::seconds(arguments.number("--lease", 30, 1, 3'600));
  options.owner = arguments.option("--owner").value_or("pid " + std::to_string(::getpid()));
  Studio studio = kept;
  studio.render_time = once::Duration(arguments.number("--render", 0, 0, 600'000));
  arguments.end();
  if (!queue) throw BadUsage("--queue is missing");
  return work(store, *queue, studio, options);
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
  if (!once) return fail(once.error());
  for (std::int64_t from = 1;;) {
    const auto page = once->log().read(stream, {.from = from});
    if (!page) return fail(page.error());
    if (page->events.empty()) return 0;
    for (const once::LogEntry& entry : page->events) say(entry.data);
    from = page->next;
  }
}

int run_story(Arguments& arguments, const std::optional<std::string>& store,
              const std::optional<std::string>& shots) {
  const auto jobs = static_cast<int>(arguments.number("--jobs", 40, 1, 10'000));
  const auto seed = static_cast<std::uint64_t>(arguments.number("--seed", 1, 0, 1'000'000'000));
  arguments.end();
  const examples::TemporaryDirectory directory;
  const std::filesystem::path kept = shots ? std::filesystem::path(*shots)
                                           : directory.path() / "shots";
  std::filesystem::create_directories(kept);
  auto once = once::open(store.value_or((directory.path() / "state").string()));
  if (!once) return fail(once.error());
  const once::Result<bool> fine = screenshot_worker::tell_story(*once, kept, jobs, seed);
  if (!fine) return fail(fine.error());
  return *fine ? 0 : 1;
}

int run(Arguments arguments) {
  if (arguments.flag("--help")) {
    std::cout << kHelp;
    return 0;
  }
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

int main(int argc, char** argv) {
  try {
    return run(Arguments(argc, argv));
  } catch (const BadUsage& wrong) {
    std::cerr << "screenshot_worker: " << wrong.what() << "; see screenshot_worker --help\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "screenshot_worker: " << error.what() << '\n';
    return 1;
  }
}
