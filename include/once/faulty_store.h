// Puts the faults of real stores before a store, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "once/store.h"

namespace once {

enum class Fault : std::uint8_t {
  none,
  fail_before,  // Nothing is performed; `unavailable`.
  fail_after,   // Performed, then `unknown`.
  delay,        // Performed after a while.
  lose_reply,   // Performed; the caller waits for the timeout, then `unknown`.
  land_late,    // `unknown` at once; performed before some later call, or by deliver_late().
};

// Reads write nothing, so for them `unknown` above reads `unavailable`, and land_late is
// fail_before.
struct FaultPlan {
  std::uint64_t seed = 0;

  // The chance of each at each call, from 0 to 1; together at most 1.
  double fail_before = 0;
  double fail_after = 0;
  double delay = 0;
  double lose_reply = 0;
  double land_late = 0;

  Duration longest_delay = std::chrono::milliseconds(50);
  Duration timeout = std::chrono::seconds(5);  // What a caller waits for a lost reply.
  std::uint64_t latest_landing = 8;            // A late commit lands within so many later calls.

  // What one fault affects: each transaction of a commit_each by itself, or the group as a whole.
  enum class Scope : std::uint8_t { transaction, group } scope = Scope::transaction;
};

struct FaultCounts {
  std::uint64_t calls = 0;      // By scope, a transaction or a group of commit_each is one.
  std::uint64_t injected = 0;   // Those with a fault.
  std::uint64_t landed = 0;     // Late commits performed by now,
  std::uint64_t under_way = 0;  // and those that are not yet.
};

// Used by one thread, the same plan gives the same faults to the same calls. Late commits that are
// under way when the store is destroyed never arrive.
class FaultyStore : public Store {
 public:
  // The next calls meet these faults, in this order, before chance decides again. What is left of
  // an earlier script is dropped.
  virtual void script(std::span<const Fault> next) = 0;

  // Performs every late commit now, in the order they were sent.
  virtual void deliver_late() = 0;

  virtual FaultCounts counts() const = 0;
};

// `inner` and `clock` must outlive the store.
std::unique_ptr<FaultyStore> inject_faults(Store& inner, FaultPlan plan,
                                           Clock& clock = system_clock());

}  // namespace once
