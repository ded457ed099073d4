// Many independent commits at once, for stores whose engine takes them one by one. Those that share
// no key are in flight together; of those that do, the later waits for the earlier's answer, and is
// not sent at all if that one is still open: the caller then tries both again, in their order
// (docs/hazards.md#h26).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "aws/message.h"
#include "aws/pause.h"
#include "once/store.h"

namespace once::aws {

// For each transaction the number of the batch that it goes with, from 0: one more than the last
// that has a key of it.
std::vector<std::size_t> key_disjoint_batches(std::span<const Transaction> transactions);

// One commit on its way: the request that is to be sent next, and what its reply makes of it. Sends
// nothing itself.
class CommitAttempt {
 public:
  virtual ~CommitAttempt() = default;

  virtual bool decided() const = 0;

  // Only undecided ones. `now` decides what has expired, unless the request is a repeat.
  virtual Request next(Time now) = 0;

  virtual void take(Result<Response> response) = 0;

  // Whether next() should wait a while: another writer is at the key.
  virtual bool wants_pause() const = 0;

  // As it stands if no more is sent.
  virtual Result<CommitOutcome> answer() const = 0;
};

// What a group needs to be sent.
struct Route {
  std::function<std::unique_ptr<CommitAttempt>(Transaction)> begin;
  std::function<std::vector<Result<Response>>(std::span<const Request>, Deadline)> send;
  std::function<Time()> now;
};

std::vector<Result<CommitOutcome>> commit_group(const Route& route,
                                                std::span<const Transaction> transactions,
                                                Pauses pauses, Deadline deadline);

}  // namespace once::aws
