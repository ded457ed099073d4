// Sends acknowledgements that wait at the same time as one request, which costs as much as one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "once/error.h"

namespace once::sqs {

// Safe to share between threads.
class Acks {
 public:
  static constexpr std::size_t kMost = 10;

  // Answers for each of up to kMost handles.
  using Send = std::function<std::vector<Result<void>>(std::span<const std::string> handles)>;

  explicit Acks(Send send) : send_(std::move(send)) {}

  // Sends at once if no request is under way; otherwise with the next one.
  Result<void> ack(const std::string& handle);

 private:
  struct Waiting {
    std::string handle;
    std::optional<Result<void>> answer;
  };

  void send_next();

  const Send send_;
  Mutex mutex_;
  std::condition_variable answered_;
  std::deque<Waiting*> waiting_ ONCE_GUARDED_BY(mutex_);
  bool sending_ ONCE_GUARDED_BY(mutex_) = false;
};

}  // namespace once::sqs
