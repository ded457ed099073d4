// Sends again what may be sent again, byte for byte the same, after pauses with full jitter, until
// a deadline.
//
// May be sent again: what was not done (no connection; throttled, conflicts: `unavailable` as
// error_of() says), and what may have been done if the request is repeatable. Access denied and
// other refusals are answers, given back at once.
#pragma once

#include <span>
#include <vector>

#include "aws/client.h"
#include "once/entropy.h"
#include "once/retrying_store.h"

namespace once::aws {

// Safe to share between threads.
class Retrying {
 public:
  // All must outlive it. The deadline in `options` is not looked at: each call has its own.
  explicit Retrying(Client& client, RetryOptions options = {}, Clock& clock = system_clock(),
                    Entropy& entropy = system_entropy())
      : client_(client), options_(options), clock_(clock), entropy_(entropy) {}

  // The last answer to each. Once an attempt at a request was `unknown`, an answer that says "not
  // now" or "denied" to a later one does not tell what became of the first: that is `unknown`, too.
  std::vector<Result<Response>> send(std::span<const Request> requests, Deadline deadline);
  Result<Response> send(const Request& request, Deadline deadline);

 private:
  Client& client_;
  const RetryOptions options_;
  Clock& clock_;
  Entropy& entropy_;
};

}  // namespace once::aws
