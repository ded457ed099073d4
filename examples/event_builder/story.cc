#include "story.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "build.h"
#include "local_queue.h"
#include "once/rocksdb_store.h"

namespace event_builder {
namespace {

using namespace std::chrono_literals;
using examples::LocalQueue;
using once::Result;

// The system's clock, in a story that does not want to wait for hours.
class StoryClock final : public once::Clock {
 public:
  void skip(once::Duration length) { ahead_ = ahead_.load() + length; }

  once::Time now() override { return once::system_clock().now() + ahead_.load(); }
  void sleep(once::Duration length) override { once::system_clock().sleep(length); }
  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock,
            once::Time until) override {
    once::system_clock().wait(signal, lock, until == once::kNever ? until : until - ahead_.load());
  }

 private:
  std::atomic<once::Duration> ahead_ = once::Duration::zero();
};

// How many deliveries came to what.
using Course = std::map<once::Delivered, std::size_t>;

// Builders of one type of event, racing as if they were on machines of their own.
class Builders {
 public:
  Builders(once::Once& once, LocalQueue& queue, const Kind& kind, once::Clock& clock) {
    const once::WorkerOptions options{
        .concurrency = 3, .lease = 400ms, .ttl = kind.known, .first_delay = 20ms};
    for (int i = 0; i < 2; ++i) {
      auto& worker = workers_.emplace_back(
          std::make_unique<once::Worker>(once, queue, options, handle, clock));
      worker->on_delivery([this](const once::DeliveryReport& report) {
        const std::lock_guard lock(mutex_);
        ++course_[report.what];
      });
      threads_.emplace_back([&worker = *worker] { (void)worker.run(); });
    }
  }
  ~Builders() { end(); }

  Course end() {
    for (auto& worker : workers_) worker->stop();
    threads_.clear();  // Joins them.
    const std::lock_guard lock(mutex_);
    return course_;
  }

 private:
  std::mutex mutex_;
  Course course_;
  std::vector<std::unique_ptr<once::Worker>> workers_;
  std::vector<std::jthread> threads_;
};

// How often each event is in the log, by source and id.
using Builds = std::map<std::string, int>;

std::string name_of(const Event& event) { return event.source + "#" + event.id; }

Result<Builds> read_builds(once::Once& once) {
  Builds builds;
  once::LogRead next;
  for (;;) {
    const auto page = once.log().read(kLog, next);
    if (!page) return std::unexpected(page.error());
    if (page->events.empty()) return builds;
    for (const once::LogEntry& entry : page->events) {
      const auto json = nlohmann::json::parse(entry.data, nullptr, false);
      ++builds[json.value("source", "") + "#" + json.value("id", "")];
      next.from = entry.index + 1;
    }
  }
}

class Story {
 public:
  Story(once::Once& once, StoryClock& clock, const StoryOptions& options)
      : once_(once),
        clock_(clock),
        random_(options.seed),
        events_(make_events(options.events, options.seed)) {
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      queues_.push_back(std::make_unique<LocalQueue>(kKinds[i].queue, clock,
                                                     options.seed + static_cast<std::uint32_t>(i)));
    }
  }

  // Every event once or more, by senders that retry; builders until nothing is left.
  Result<Course> deliver(unsigned most) {
    std::vector<const Event*> sent;
    for (const Event& event : events_) sent.insert(sent.end(), 1 + random_() % most, &event);
    std::ranges::shuffle(sent, random_);
    for (const Event* const event : sent) queue_of(*event).send(to_json(*event));
    sent_ = sent.size();
    return work();
  }

  // One that nobody can build.
  Result<Course> deliver_nonsense() {
    queues_[0]->send(R"({"specversion":"1.0","type":"example.build.start","source":"/repos/shop",)"
                     R"("id":"nonsense","data":{"function":7}})");
    return work();
  }

  // Whether the log has each event as often as `expected` says.
  Result<bool> check(const std::map<std::string, int>& expected_of_type) {
    const auto builds = read_builds(once_);
    if (!builds) return std::unexpected(builds.error());
    Builds expected;
    for (const Event& event : events_) expected[name_of(event)] = expected_of_type.at(event.type);
    return *builds == expected;
  }

  std::size_t sent() const { return sent_; }
  std::size_t count(const char* type) const {
    return static_cast<std::size_t>(std::ranges::count(events_, type, &Event::type));
  }
  std::size_t lost_acks() const { return queues_[0]->lost_acks() + queues_[1]->lost_acks(); }
  bool has_dead_letters() const { return !queues_[0]->dead_letters().empty(); }

 private:
  LocalQueue& queue_of(const Event& event) {
    return *queues_[event.type == kKinds[0].type ? 0 : 1];
  }

  Result<Course> work() {
    Builders builders(once_, *queues_[0], kKinds[0], clock_);
    Builders previewers(once_, *queues_[1], kKinds[1], clock_);
    for (auto& queue : queues_) {
      if (!queue->wait_until_empty(2min)) {
        return once::failure(once::ErrorCode::unavailable, "the queues do not become empty");
      }
    }
    Course course = builders.end();
    for (const auto& [what, count] : previewers.end()) course[what] += count;
    return course;
  }

  once::Once& once_;
  StoryClock& clock_;
  std::mt19937 random_;
  const std::vector<Event> events_;
  std::vector<std::unique_ptr<LocalQueue>> queues_;
  std::size_t sent_ = 0;
};

const char* meaning_of(once::Delivered what) {
  using enum once::Delivered;
  switch (what) {
    case handled: return "built, and recorded in the commit that completes it";
    case duplicate: return "it was built before";
    case busy: return "another builder was at it: it came back";
    case failed: return "the build failed, its key was freed, it came back";
    case dead: return "nobody can build it";
    case lost: return "the builder was too slow; another's attempt counts";
    case returned: break;
  }
  return "not begun: it came back";
}

void print(const Course& course) {
  for (const auto& [what, count] : course) {
    const std::string name(once::name_of(what));
    std::printf("  %4zu %-10s %s\n", count, name.c_str(), meaning_of(what));
  }
}

Result<bool> tell(Story& story, StoryClock& clock) {
  const auto& [build, preview] = kKinds;
  std::printf("%zu builds and %zu previews are asked for", story.count(build.type),
              story.count(preview.type));
  const auto first = story.deliver(3);
  if (!first) return std::unexpected(first.error());
  std::printf(", %zu times; %zu acknowledgements are lost:\n", story.sent(), story.lost_acks());
  print(*first);
  const auto right = story.check({{build.type, 1}, {preview.type, 1}});
  if (!right) return std::unexpected(right.error());
  std::printf("%s\n", *right ? "Each is recorded once." : "NOT EACH IS RECORDED ONCE.");

  clock.skip(2h);
  const auto later = story.deliver(1);
  if (!later) return std::unexpected(later.error());
  std::printf("Two hours later all are asked for again:\n");
  print(*later);
  const auto still = story.check({{build.type, 1}, {preview.type, 2}});
  if (!still) return std::unexpected(still.error());
  std::printf("%s\n", *still ? "Builds are known for 24 hours; previews, for one, are built again."
                             : "NOT EACH IS RECORDED AS OFTEN AS IT SHOULD BE.");

  const auto nonsense = story.deliver_nonsense();
  if (!nonsense) return std::unexpected(nonsense.error());
  const bool buried = nonsense->contains(once::Delivered::dead) && story.has_dead_letters();
  std::printf("An event that nobody can build %s\n",
              buried ? "is a dead letter at the first attempt." : "IS NO DEAD LETTER.");
  return *right && *still && buried;
}

}  // namespace

Result<bool> tell_story(const StoryOptions& options) {
  StoryClock clock;
  auto store = once::open_rocksdb(
      {.directory = options.directory, .durability = once::Durability::relaxed}, clock);
  if (!store) return std::unexpected(store.error());
  once::Once once(std::move(*store), "event_builder", clock);
  Story story(once, clock, options);
  return tell(story, clock);
}

}  // namespace event_builder
