// A queue of Amazon SQS, or of what speaks like it.
#pragma once

#include <memory>
#include <string>

#include "once/queue.h"

namespace once::sqs {

struct Options {
  std::string queue;
  std::string dead;      // For dead letters; "" for the queue's name with "-dead".
  std::string region;    // "" for what the environment says.
  std::string endpoint;  // The same.
  Duration wait = std::chrono::seconds(5);  // For messages, in one call: 0 to 20 s.
};

// `invalid`: there is no such queue. That for dead letters is made if it is not there.
Result<std::unique_ptr<Queue>> open(const Options& options);

}  // namespace once::sqs
