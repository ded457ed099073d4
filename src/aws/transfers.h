// Carries HTTP requests over a bounded number of kept connections, each request once.
//
// libcurl repeats a request by itself when a reused connection closes before the reply
// (docs/hazards.md#h8). Here it cannot: a body is read from a callback that does not rewind, and a
// callback before each sending ends the transfer at the second one. What was begun and got no
// answer is `unknown`; what was not begun is `unavailable`.
//
// One thread of its own drives all transfers, so that threads share connections and no caller waits
// for another's reply.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "aws/credentials.h"
#include "aws/message.h"
#include "base/mutex.h"
#include "once/error.h"
#include "once/time.h"

namespace once::aws {

struct TransferOptions {
  Duration connect_timeout;
  std::size_t connections;     // At most so many transfers at once; what is beyond them waits.
  std::size_t response_limit;  // In bytes, of a body.
  std::string ca_file;         // Instead of the system's certificates.
  bool may_use_proxy;          // As https_proxy and no_proxy in the environment say.
};

// One request on its way.
struct Transfer {
  std::string method;
  std::string url;
  std::vector<Header> headers;
  std::string_view body;  // Must outlive the transfer.
  Result<Response> answer = failure(ErrorCode::unavailable, "not sent");
  Time asked;  // When it began to be sent, and when its answer was there.
  Time answered;
};

// Safe to share between threads.
class Transfers {
 public:
  Transfers(TransferOptions options, Clock& clock);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Back when each has its answer, which is by the deadline.
  void perform(std::span<Transfer> transfers, Deadline deadline);

 private:
  class Loop;
  struct Batch;
  struct Job {
    Transfer* transfer;
    Batch* batch;
    Deadline deadline;
  };

  void run();

  // Constant after construction.
  const TransferOptions options_;
  Clock& clock_;
  void* const multi_;  // libcurl's; only the thread uses it, except to wake it.

  Mutex mutex_;
  std::deque<Job> arrived_ ONCE_GUARDED_BY(mutex_);
  bool stopping_ ONCE_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace once::aws
