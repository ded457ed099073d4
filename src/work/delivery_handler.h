// One delivery, from its claim to its acknowledgement. Safe to share between threads.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "once/work.h"

namespace once::work {

// What became of a delivery.
struct DeliveryResult {
  Delivered what = Delivered::handled;
  std::string_view cause;
  std::string key;
  std::string reason;
  bool store_down = false;  // Nothing is the message's fault: it may be tried again.
  Duration back{};          // After how long it comes back, if it does.

  bool comes_back() const {
    return what != Delivered::handled && what != Delivered::duplicate && what != Delivered::dead;
  }
};

// Why messages failed whose dead letter could not be written: they come back, and have no attempt
// left that would tell. Safe to share between threads.
class UnwrittenReasons {
 public:
  void remember(const std::string& key, const std::string& reason);
  std::optional<std::string> take(const std::string& key);

 private:
  Mutex mutex_;
  std::map<std::string, std::string> reasons_ ONCE_GUARDED_BY(mutex_);  // By key.
};

class DeliveryHandler {
 public:
  using Trouble = std::function<void(const Error&)>;

  // All must outlive it.
  DeliveryHandler(Once& once, Queue& queue, const WorkerOptions& options, const Handler& handler,
                  const Trouble& trouble)
      : once_(once), queue_(queue), options_(options), handler_(handler), trouble_(trouble) {}

  // From the claim to the outcome. `claimed` is called when the claim is ours: from then on until
  // it returns, the message is kept hidden here.
  DeliveryResult handle(const Message& message, const std::function<void()>& claimed) const;

  // Tells the broker what became of it. If the broker is not reached, the message is delivered once
  // more.
  void settle(const Message& message, const DeliveryResult& ended) const;

  // How long a message stays in the queue after so many failures.
  Duration delay_after(std::int64_t failures) const;

 private:
  // What is known of the attempt when its run is over.
  struct AttemptState {
    std::int64_t number = 0;
    bool lost = false;
    bool dead = false;        // Its dead letter is written.
    bool unfinished = false;  // Because earlier attempts did not end.
  };

  DeliveryResult run(const Message& message, const std::string& key,
                     const std::function<void()>& claimed) const;
  Result<Effects> attempt_at(Task task, AttemptState& state) const;
  Result<Effects> call_handler(Task& task) const;
  std::unexpected<Error> failed(const Message& message, const Attempt& attempt, Error error,
                                AttemptState& state) const;
  DeliveryResult ended(const Message& message, const std::string& key, const NotRun& not_run,
                       const AttemptState& state) const;
  DeliveryResult bury(const Message& message, const std::string& key, std::string_view cause,
                      std::string reason, std::int64_t failures) const;
  Result<void> send_dead(const Message& message, const std::string& key,
                         const std::string& reason) const;
  Result<void> record_reason(const std::string& key, const std::string& reason) const;

  Once& once_;
  Queue& queue_;
  const WorkerOptions& options_;
  const Handler& handler_;
  const Trouble& trouble_;
  mutable UnwrittenReasons unwritten_;
};

}  // namespace once::work
