// A queue of Amazon SQS, or of a compatible service.
#pragma once

#include <memory>
#include <string>

#include "once/queue.h"

namespace once::sqs {

struct Options {
  std::string queue;
  std::string dead;      // For dead letters; "" for the queue's name with "-dead".
  std::string region;    // "" for the environment's.
  std::string endpoint;  // The same.
  Duration wait = std::chrono::seconds(5);  // For messages, in one call: 0 to 20 s.
};

// `invalid`: the queue does not exist. The one for dead letters is created if it does not exist.
Result<std::unique_ptr<Queue>> open(const Options& options);

}  // namespace once::sqs
