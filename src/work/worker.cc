#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/backoff.h"
#include "base/mutex.h"
#include "base/periodic.h"
#include "once/work.h"
#include "work/delivery_handler.h"

namespace once {
namespace {

// For a queue or a store that does not answer.
constexpr PauseBounds kPauses{
    .shortest = Duration(100), .first = Duration(250), .longest = Duration(15'000)};

// How long a message is held while the store is down. SQS hides none for longer than 12 hours.
constexpr Duration kLongestHold = std::chrono::hours(11);

using MessagePtr = std::shared_ptr<const Message>;

}  // namespace

std::string_view name_of(Delivered what) {
  switch (what) {
    case Delivered::handled: return "handled";
    case Delivered::duplicate: return "duplicate";
    case Delivered::busy: return "busy";
    case Delivered::failed: return "failed";
    case Delivered::dead: return "dead";
    case Delivered::lost: return "lost";
    case Delivered::returned: return "returned";
  }
  return "";
}

// No more messages are taken from the queue than there are threads, so that none waits here while
// another worker is idle. Messages of a group that is being handled wait for it.
class Worker::Loop {
 public:
  Loop(Once& once, Queue& queue, WorkerOptions options, Handler handler, Clock& clock)
      : queue_(queue),
        options_(std::move(options)),
        handler_(std::move(handler)),
        clock_(clock),
        delivery_handler_(once, queue_, options_, handler_, trouble_) {}

  Result<void> run() {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < options_.concurrency; ++i)
      threads.emplace_back([this] { serve(); });
    const Periodic hiding(clock_, std::max(Duration(1), options_.lease / 3), [this] {
      keep_hidden();
      return false;
    });
    Result<void> ended = receive_all();
    end();
    for (std::thread& thread : threads) thread.join();
    return ended;
  }

  void stop() {
    {
      const Lock lock(mutex_);
      stopping_ = true;
    }
    signal_.notify_all();
  }

  std::size_t under_way() const {
    const Lock lock(mutex_);
    return taken_;
  }

  std::optional<Duration> lag() const {
    const Lock lock(mutex_);
    if (taken_ == 0) return Duration::zero();
    if (sent_.empty()) return std::nullopt;
    return std::max(Duration::zero(), clock_.now() - *sent_.begin());
  }

  void on_delivery(std::function<void(const DeliveryReport&)> tell) { report_ = std::move(tell); }
  void on_trouble(std::function<void(const Error&)> tell) { trouble_ = std::move(tell); }

 private:
  struct Taken {
    MessagePtr message;
    Time since;
  };

  // A message of the group was returned to the queue a moment ago. Later ones that were on their
  // way here must not overtake it: they are returned for as long.
  struct GroupReturn {
    Time when;
    Duration back;
  };
  static constexpr Duration kOnTheWay = std::chrono::milliseconds(50);

  void drop_old_returns() ONCE_REQUIRES(mutex_) {
    const Time now = clock_.now();
    std::erase_if(group_returns_,
                  [&](const auto& one) { return now - one.second.when > kOnTheWay; });
  }

  // A queue that was received from once is set up well: whatever its broker says later is waited
  // out (docs/hazards.md#h39).
  Result<void> receive_all() {
    Backoff backoff(kPauses, clock_, system_entropy());
    bool received = false;
    while (const std::size_t room = wait_for_room()) {
      Result<std::vector<Message>> messages = queue_.receive(room, options_.lease);
      if (messages) {
        backoff.reset();
        received = true;
        take(std::move(*messages));
        continue;
      }
      pause_for(backoff.next());
      trouble_(messages.error());
      if (!received && !is_transient(messages.error())) {
        return std::unexpected(std::move(messages.error()));
      }
    }
    return {};
  }

  void pause_for(Duration length) {
    const Lock lock(mutex_);
    paused_until_ = later(clock_.now(), length);
  }

  // How many more messages may be taken; 0 when it is time to end. None while the store is down:
  // they are better off in their queue.
  std::size_t wait_for_room() {
    Lock lock(mutex_);
    while (!stopping_) {
      const bool paused = clock_.now() < paused_until_;
      const bool room = taken_ < options_.concurrency && holding_ == 0;
      if (!paused && room) return options_.concurrency - taken_;
      if (paused) {
        clock_.wait(signal_, lock.native(), paused_until_);
      } else {
        signal_.wait(lock.native());
      }
    }
    return 0;
  }

  void take(std::vector<Message> messages) {
    const Time now = clock_.now();
    std::vector<Taken> late;
    std::vector<std::pair<Taken, Duration>> behind;
    {
      const Lock lock(mutex_);
      drop_old_returns();
      for (Message& message : messages) {
        Taken taken{std::make_shared<const Message>(std::move(message)), now};
        const auto came_back = group_returns_.find(taken.message->group);
        if (stopping_) {
          late.push_back(std::move(taken));
        } else if (came_back != group_returns_.end()) {
          behind.emplace_back(std::move(taken), came_back->second.back);
        } else {
          ++taken_;
          if (taken.message->sent) sent_.insert(*taken.message->sent);
          unclaimed_.emplace(taken.message, now);
          enqueue(std::move(taken));
        }
      }
    }
    signal_.notify_all();
    return_all(late, {.cause = "stopping", .reason = "the worker ends"});
    for (auto& [taken, back] : behind) return_behind({std::move(taken)}, back);
  }

  void enqueue(Taken taken) ONCE_REQUIRES(mutex_) {
    const std::string& group = taken.message->group;
    const auto waiting = group.empty() ? waiting_.end() : waiting_.find(group);
    if (waiting != waiting_.end()) {
      waiting->second.push_back(std::move(taken));
      return;
    }
    if (!group.empty()) waiting_[group];
    ready_.push_back(std::move(taken));
  }

  // Lets the threads end after the messages that they are handling.
  void end() {
    std::vector<Taken> waiting;
    {
      const Lock lock(mutex_);
      ending_ = true;
      for (auto& [group, messages] : waiting_) {
        std::ranges::move(messages, std::back_inserter(waiting));
        messages.clear();
      }
      forget(waiting);
    }
    signal_.notify_all();
    return_all(waiting, {.cause = "stopping", .reason = "the worker ends"});
  }

  // They are no longer here.
  void forget(const std::vector<Taken>& messages) ONCE_REQUIRES(mutex_) {
    taken_ -= messages.size();
    for (const Taken& taken : messages) {
      unclaimed_.erase(taken.message);
      if (taken.message->sent) sent_.erase(sent_.find(*taken.message->sent));
    }
  }

  void serve() {
    while (std::optional<Taken> taken = next()) {
      const work::DeliveryResult ended = handle(*taken);
      delivery_handler_.settle(*taken->message, ended);
      const std::vector<Taken> behind = finish(*taken, ended);
      report(*taken, ended);
      return_behind(behind, ended.back);
      signal_.notify_all();
    }
  }

  std::optional<Taken> next() {
    Lock lock(mutex_);
    while (ready_.empty() && !ending_) signal_.wait(lock.native());
    if (ready_.empty()) return std::nullopt;
    std::optional<Taken> taken(std::move(ready_.front()));
    ready_.pop_front();
    return taken;
  }

  // A broker counts deliveries, and may drop a message after some. So one that cannot be claimed
  // because the store is down stays here until the store answers (docs/hazards.md#h34).
  work::DeliveryResult handle(const Taken& taken) {
    const auto claimed = [&] {
      const Lock lock(mutex_);
      unclaimed_.erase(taken.message);
    };
    for (bool held = false;; held = true) {
      work::DeliveryResult ended = delivery_handler_.handle(*taken.message, claimed);
      const bool again = ended.store_down && hold(taken, ended.reason, held);
      if (again) continue;
      if (held || ended.store_down) release_hold();
      if (!ended.store_down && !ended.key.empty()) end_store_pause();
      return ended;
    }
  }

  // Waits for the next try. False if the worker ends, or has held the message for too long.
  bool hold(const Taken& taken, const std::string& reason, bool held) {
    bool first = false;
    {
      const Lock lock(mutex_);
      if (!held) ++holding_;
      unclaimed_.emplace(taken.message, taken.since);
      first = clock_.now() >= store_pause_until_;
      if (first) store_pause_until_ = later(clock_.now(), store_backoff_.next());
    }
    if (first) {
      trouble_({ErrorCode::unavailable, "the store is down, messages are held: " + reason});
    }
    Lock lock(mutex_);
    while (!stopping_ && clock_.now() < store_pause_until_) {
      clock_.wait(signal_, lock.native(), store_pause_until_);
    }
    return !stopping_ && clock_.now() - taken.since < kLongestHold;
  }

  void release_hold() {
    const Lock lock(mutex_);
    --holding_;
  }

  // The store answered: those that are held try again at once.
  void end_store_pause() {
    {
      const Lock lock(mutex_);
      store_backoff_.reset();
      store_pause_until_ = Time();
    }
    signal_.notify_all();
  }

  // Those that wait for their group, or for the store. Others are kept hidden with their lease.
  void keep_hidden() {
    std::vector<MessagePtr> messages;
    {
      const Lock lock(mutex_);
      const Time now = clock_.now();
      for (const auto& [message, since] : unclaimed_) {
        if (now - since < kLongestHold) messages.push_back(message);
      }
    }
    for (const MessagePtr& message : messages) {
      const Result<void> extended = queue_.extend(*message, options_.lease);
      if (extended) continue;
      trouble_(extended.error());  // At worst it comes again, and meets a busy claim.
      if (is_transient(extended)) return;
    }
  }

  // Returns the messages that must not be handled, because the one before them comes back.
  std::vector<Taken> finish(const Taken& done, const work::DeliveryResult& ended) {
    const std::string& group = done.message->group;
    const Lock lock(mutex_);
    forget({done});
    std::vector<Taken> behind;
    drop_old_returns();
    if (!group.empty() && ended.comes_back()) group_returns_[group] = {clock_.now(), ended.back};
    const auto waiting = group.empty() ? waiting_.end() : waiting_.find(group);
    if (waiting == waiting_.end()) return behind;
    if (ended.comes_back()) {
      std::ranges::move(waiting->second, std::back_inserter(behind));
      forget(behind);
      waiting->second.clear();
    }
    if (waiting->second.empty()) {
      waiting_.erase(waiting);
    } else {
      ready_.push_back(std::move(waiting->second.front()));
      waiting->second.pop_front();
    }
    return behind;
  }

  void return_behind(const std::vector<Taken>& messages, Duration back) {
    return_all(messages,
               {.cause = "group", .reason = "one before it in its group came back", .back = back});
  }

  void return_all(const std::vector<Taken>& messages, work::DeliveryResult how) {
    how.what = Delivered::returned;
    for (const Taken& taken : messages) {
      const Result<void> returned = queue_.give_back(*taken.message, how.back);
      if (!returned) trouble_(returned.error());
      report(taken, how);
    }
  }

  void report(const Taken& taken, const work::DeliveryResult& ended) {
    if (!report_) return;
    report_({.message = *taken.message,
             .key = ended.key,
             .what = ended.what,
             .cause = ended.cause,
             .reason = ended.reason,
             .taken = clock_.now() - taken.since});
  }

  Queue& queue_;
  const WorkerOptions options_;
  const Handler handler_;
  Clock& clock_;
  std::function<void(const DeliveryReport&)> report_;
  std::function<void(const Error&)> trouble_ = [](const Error&) {};
  const work::DeliveryHandler delivery_handler_;

  std::condition_variable signal_;
  mutable Mutex mutex_;
  std::deque<Taken> ready_ ONCE_GUARDED_BY(mutex_);
  std::map<std::string, std::deque<Taken>> waiting_ ONCE_GUARDED_BY(mutex_);  // By group.
  std::map<std::string, GroupReturn> group_returns_ ONCE_GUARDED_BY(mutex_);
  std::size_t taken_ ONCE_GUARDED_BY(mutex_) = 0;     // Ready, waiting or being handled.
  std::multiset<Time> sent_ ONCE_GUARDED_BY(mutex_);  // Of those that tell when they were.
  std::map<MessagePtr, Time> unclaimed_ ONCE_GUARDED_BY(mutex_);  // Since when they are here.
  std::size_t holding_ ONCE_GUARDED_BY(mutex_) = 0;               // Until the store answers.
  Time paused_until_ ONCE_GUARDED_BY(mutex_);                     // For the broker.
  Time store_pause_until_ ONCE_GUARDED_BY(mutex_);
  Backoff store_backoff_ ONCE_GUARDED_BY(mutex_){kPauses, clock_, system_entropy()};
  bool stopping_ ONCE_GUARDED_BY(mutex_) = false;
  bool ending_ ONCE_GUARDED_BY(mutex_) = false;
};

Worker::Worker(Once& once, Queue& queue, WorkerOptions options, Handler handler, Clock& clock)
    : loop_(std::make_unique<Loop>(once, queue, std::move(options), std::move(handler), clock)) {}
Worker::~Worker() = default;

void Worker::on_delivery(std::function<void(const DeliveryReport&)> tell) {
  loop_->on_delivery(std::move(tell));
}
void Worker::on_trouble(std::function<void(const Error&)> tell) {
  loop_->on_trouble(std::move(tell));
}
Result<void> Worker::run() { return loop_->run(); }
void Worker::stop() { loop_->stop(); }
std::size_t Worker::under_way() const { return loop_->under_way(); }
std::optional<Duration> Worker::lag() const { return loop_->lag(); }

}  // namespace once
