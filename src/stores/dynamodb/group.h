// Many independent commits at once. Those that share no key are in flight together; of those that
// do, the later waits for the earlier's answer, and is not sent at all if that one is still open:
// then whoever asked tries both again, in their order (H26).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "once/store.h"
#include "stores/dynamodb/pause.h"
#include "stores/dynamodb/transport.h"

namespace once::dynamodb {

// For each transaction the number of the wave that it goes with, from 0: one more than the last
// that has a key of it.
std::vector<std::size_t> waves_of(std::span<const Transaction> transactions);

// What a group needs to be sent.
struct Route {
  const std::string& table;
  Transport& transport;
  Entropy& entropy;
  std::function<Time()> now;
};

std::vector<Result<CommitOutcome>> commit_group(const Route& route,
                                                std::span<const Transaction> transactions,
                                                Pauses pauses, aws::Deadline deadline);

}  // namespace once::dynamodb
