// Sends a request again, byte for byte the same, after random pauses, until a deadline.
//
// Sent again: what was not done (no connection, throttling, conflicts: `unavailable` in
// error_of()), and what may have been done if the request is repeatable. Access denied and other
// refusals are answers and returned at once.
#pragma once

#include <span>
#include <vector>

#include "aws/client.h"
#include "base/backoff.h"
#include "once/entropy.h"

namespace once::aws {

// Safe to share between threads.
class Retrying {
 public:
  // All must outlive it.
  explicit Retrying(Client& client, Clock& clock = system_clock(),
                    Entropy& entropy = system_entropy())
      : client_(client), clock_(clock), entropy_(entropy) {}

  // The last answer to each. Once an attempt was `unknown`, a later "unavailable" or "denied" does
  // not tell the outcome of the first attempt: the answer is then `unknown`, too.
  std::vector<Result<Response>> send(std::span<const Request> requests, Deadline deadline);
  Result<Response> send(const Request& request, Deadline deadline);

 private:
  Client& client_;
  Clock& clock_;
  Entropy& entropy_;
};

}  // namespace once::aws
