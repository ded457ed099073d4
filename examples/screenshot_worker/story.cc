#include "story.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "job.h"
#include "local_queue.h"
#include "once/work.h"
#include "picture.h"
#include "shooting.h"

namespace screenshot_worker {
namespace {

using namespace std::chrono_literals;
using examples::LocalQueue;

constexpr int kWorkers = 5;
constexpr std::size_t kBegun = 5;  // Jobs, by the worker that dies.
constexpr once::Duration kLease = 300ms;

// Every third one is sent twice, and none in its order. Answers how many messages that makes.
std::size_t send_all(LocalQueue& queue, const std::vector<Job>& jobs, std::mt19937_64& random) {
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    messages.insert(messages.end(), i % 3 == 0 ? 2 : 1, message_of(jobs[i]).value());
  }
  std::ranges::shuffle(messages, random);
  for (const std::string& message : messages) queue.send(message);
  return messages.size();
}

once::Result<std::string> claim_of_job(const LocalQueue& queue, const Job& job) {
  once::Message message;
  message.body = message_of(job).value();
  return once::claim_of(queue.name(), message, {});
}

// A worker that dies in the middle of some jobs. What it leaves is what a killed process leaves:
// messages that nobody acknowledged, claims whose leases run out, and half a picture of each.
struct Begun {
  Job job;
  std::string claim;
  once::Claimed claimed;
};
once::Result<std::vector<Begun>> die_at_work(once::Once& once, LocalQueue& queue,
                                             const std::filesystem::path& shots) {
  std::vector<Begun> begun;
  const auto messages = queue.receive(kBegun, kLease);
  for (const once::Message& message : *messages) {
    const Job job = job_in(message.body).value();
    const std::string claim = once::claim_of(queue.name(), message, {}).value();
    const auto taken = once.claims().take(claim, {.owner = "the dead one", .lease = kLease});
    if (!taken) return std::unexpected(taken.error());
    const auto* claimed = std::get_if<once::Claimed>(&*taken);
    if (claimed == nullptr) continue;  // The same job twice.
    const std::string picture = picture_of(job);
    const std::string name = job.id + "." + std::to_string(claimed->fence) + ".png.draft";
    std::ofstream(shots / name) << picture.substr(0, picture.size() / 2);
    begun.push_back({job, claim, *claimed});
  }
  return begun;
}

// It was only asleep, and goes on where it was, with a page that looks different by now. How many
// of its results were refused.
once::Result<std::size_t> wake_up(once::Once& once, const std::vector<Begun>& begun,
                                  const std::filesystem::path& shots) {
  std::size_t refused = 0;
  for (const Begun& at : begun) {
    Job outdated = at.job;
    outdated.page += "?yesterday";
    const auto address = keep(shots, at.job, at.claimed.fence, picture_of(outdated));
    if (!address) return std::unexpected(address.error());
    const auto settled = once.claims().complete(at.claim, at.claimed.ticket, *address);
    if (!settled) return std::unexpected(settled.error());
    refused += std::holds_alternative<once::Settled>(*settled) ? 0 : 1;
  }
  return refused;
}

class Crew {
 public:
  Crew(once::Once& once, LocalQueue& queue, const Studio& studio) {
    for (int i = 1; i <= kWorkers; ++i) {
      const std::string name = "worker-" + std::to_string(i);
      auto& worker = workers_.emplace_back(std::make_unique<once::Worker>(
          once, queue, once::WorkerOptions{.concurrency = 1, .lease = kLease, .owner = name},
          [&studio](once::Task& task) { return shoot(studio, task); }));
      worker->on_delivery([this](const once::DeliveryReport& report) {
        ++counts_[static_cast<std::size_t>(report.what)];
      });
      threads_.emplace_back([&worker = *worker] { (void)worker.run(); });
    }
  }
  ~Crew() {
    for (auto& worker : workers_) worker->stop();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int count(once::Delivered what) const { return counts_[static_cast<std::size_t>(what)]; }

 private:
  std::array<std::atomic<int>, 7> counts_{};
  std::vector<std::unique_ptr<once::Worker>> workers_;
  std::vector<std::jthread> threads_;  // Ended before what they use.
};

std::string bytes_at(const std::string& address) {
  constexpr std::string_view kScheme = "file://";
  std::ifstream in(address.substr(std::min(kScheme.size(), address.size())), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Jobs whose claim is done, with an address where the whole picture is, which the log has once and
// has no other.
once::Result<std::size_t> count_done(once::Once& once, const LocalQueue& queue,
                                     const std::vector<Job>& jobs) {
  std::multimap<std::string, std::string> logged;
  for (std::int64_t from = 1;;) {
    const auto page = once.log().read(queue.name(), {.from = from});
    if (!page) return std::unexpected(page.error());
    if (page->events.empty()) break;
    for (const once::LogEntry& entry : page->events) {
      const std::size_t space = entry.data.find(' ');
      logged.emplace(entry.data.substr(0, space), entry.data.substr(space + 1));
    }
    from = page->next;
  }
  std::size_t done = 0;
  for (const Job& job : jobs) {
    const auto state = once.claims().show(claim_of_job(queue, job).value());
    if (!state) return std::unexpected(state.error());
    const bool is_done = *state && (*state)->kind == once::ClaimState::Kind::done;
    if (!is_done || logged.count(job.id) != 1) continue;
    const std::string& address = (*state)->result;
    if (logged.find(job.id)->second == address && bytes_at(address) == picture_of(job)) ++done;
  }
  return logged.size() == jobs.size() ? done : 0;
}

}  // namespace

once::Result<bool> tell_story(once::Once& once, const std::filesystem::path& shots, int count,
                              std::uint32_t seed) {
  LocalQueue queue("jobs-" + std::to_string(once.now().time_since_epoch().count()),
                   once::system_clock(), seed);
  std::vector<Job> jobs;
  for (int i = 1; i <= count; ++i) {
    const std::string number = std::to_string(i);
    jobs.push_back({.id = "shot-" + number, .page = "https://example.org/" + number});
  }
  std::mt19937_64 random(seed);
  const std::size_t messages = send_all(queue, jobs, random);
  const auto begun = die_at_work(once, queue, shots);
  if (!begun) return std::unexpected(begun.error());

  const Studio studio{.shots = shots, .stream = queue.name(), .render_time = 2ms};
  const Crew crew(once, queue, studio);
  const bool drained = queue.wait_until_empty(60s);
  const auto done = count_done(once, queue, jobs);
  if (!done) return std::unexpected(done.error());
  const auto refused = wake_up(once, *begun, shots);
  if (!refused) return std::unexpected(refused.error());
  const auto still_done = count_done(once, queue, jobs);
  if (!still_done) return std::unexpected(still_done.error());

  std::printf("%s: %d jobs in %zu messages; %d workers, and one that died in the middle of %zu\n",
              queue.name().c_str(), count, messages, kWorkers, begun->size());
  std::printf("%d deliveries handled; %d were of jobs that were done, %d of jobs under way\n",
              crew.count(once::Delivered::handled), crew.count(once::Delivered::duplicate),
              crew.count(once::Delivered::busy));
  const bool kept = drained && *done == jobs.size();
  std::printf("%zu of %d jobs have one address, where the whole picture is%s\n", *done, count,
              kept ? "; no message is left" : ": NOT AS PROMISED");
  const bool fenced = *refused == begun->size() && *still_done == *done;
  std::printf("the dead one woke up and finished its %zu: %s\n", begun->size(),
              fenced ? "refused, and no picture changed" : "NOT REFUSED");
  return kept && fenced && queue.dead_letters().empty();
}

}  // namespace screenshot_worker
