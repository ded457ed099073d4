// A worker: takes messages from a queue and handles each once, whatever is delivered twice.
//
//   claim -> handle -> complete, with the handler's effects in the same commit -> acknowledge
//
// A message is known by its key, which is scoped to its queue. One that is done is acknowledged
// without being handled again; one that another worker is at comes back when that one's lease ends.
// A failure frees the key and the message comes back after a growing delay; after the last attempt
// it becomes a dead letter, with the reason. Dead letters may be put back into the queue: they are
// handled again. While the store is down, the worker holds what it has and takes no more.
//
// Effects take effect exactly once. What a handler does besides them is never done by two at a time
// while leases hold, never again after the message was completed, and again only if an attempt did
// not finish.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "once/once.h"
#include "once/queue.h"

namespace once {

// The renewals of one attempt's lease. Safe to share between threads.
class Renewals {
 public:
  // Calls `tell` after each renewal, on another thread, while it lives. One at a time.
  class Callback {
   public:
    Callback(Renewals& renewals, std::function<void()> tell) : renewals_(renewals) {
      renewals_.set(std::move(tell));
    }
    ~Callback() { renewals_.set(nullptr); }  // Waits for a call under way.
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;

   private:
    Renewals& renewals_;
  };

  void tell() {
    const std::lock_guard lock(mutex_);
    if (tell_) tell_();
  }

 private:
  void set(std::function<void()> tell) {
    const std::lock_guard lock(mutex_);
    tell_ = std::move(tell);
  }

  std::mutex mutex_;
  std::function<void()> tell_;
};

// One attempt at one message.
struct Task {
  const Message& message;
  Attempt& attempt;          // attempt.key() is the message's claim.
  std::stop_token stopped;   // The lease was lost: stop, another worker may handle it.
  Renewals& renewals;        // attempt.lease_until() is later after each.
  bool lease_ended = false;  // Set by a handler that failed because of that: not a failed attempt.
};

// Called on several threads at once. An error, or an exception, is a failed attempt;
// attempt.give_up() makes it the last one.
using Handler = std::function<Result<Effects>(Task&)>;

// What a message is known by: a CloudEvent's source and id, if it is one; else this attribute, if
// it has it; else its id.
struct KeyRule {
  std::string attribute;
  bool body = false;    // Instead of the id: messages of equal bodies are taken for one message.
  std::string pointer;  // Of JSON (RFC 6901): what it finds in the body goes before the id.
};

// The name of the claim of a message of that queue. `invalid` if there is nothing to know it by, or
// it says that it is a CloudEvent and is none.
Result<std::string> claim_of(std::string_view queue, const Message& message, const KeyRule& rule);

struct WorkerOptions {
  std::size_t concurrency = 8;    // Messages at once; 1 to 1,000.
  std::int64_t max_attempts = 5;  // At a message, in the last hour at least.
  Duration lease = std::chrono::seconds(30);
  Duration ttl = std::chrono::hours(24);             // How long a done message is known.
  Duration first_delay = std::chrono::seconds(1);    // After a first failure; doubled with each,
  Duration longest_delay = std::chrono::minutes(5);  // up to this.
  KeyRule key;
  std::string owner;  // A label for people.
};

// What became of a delivery.
enum class Delivered : std::uint8_t {
  handled,
  duplicate,  // It was done before.
  busy,       // Another worker handles it; it comes back.
  failed,     // It comes back after a delay.
  dead,       // It is a dead letter now.
  lost,       // The lease was lost; another worker's attempt counts.
  returned,   // Unhandled: one before it in its group came back, the store refused it, or the
              // worker ended.
};
std::string_view name_of(Delivered what);

struct DeliveryReport {
  const Message& message;
  std::string key;  // "" if it has none.
  Delivered what;
  std::string_view cause;  // One of a few words, for counting: "already_done", "handler_failed".
  std::string reason;      // For people, of what is not handled or a duplicate.
  Duration taken;          // Since it was received.
};

class Worker {
 public:
  // All of them must outlive it.
  Worker(Once& once, Queue& queue, WorkerOptions options, Handler handler,
         Clock& clock = system_clock());
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Called for each delivery, on the thread that handled it, and for each trouble with the broker
  // or the store. Set before run().
  void on_delivery(std::function<void(const DeliveryReport&)> tell);
  void on_trouble(std::function<void(const Error&)> tell);

  // Works until stop(); then it takes no more messages, finishes those that are under way and
  // returns. An error if the queue refuses the first receive; later, and if the broker is down, it
  // is waited for.
  Result<void> run();

  // From any thread.
  void stop();

  std::size_t under_way() const;

  // How long ago the oldest message was sent that is under way: zero without one, and nothing if
  // they do not tell.
  std::optional<Duration> lag() const;

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace once
