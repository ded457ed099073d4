// One call of a store that serves the steps of several plans.
#pragma once

#include <cstdint>
#include <vector>

#include "once/batching_driver.h"

namespace once::detail {

enum class CallKind : std::uint8_t { commit, get, scan };

CallKind kind_of(const Step& step);

// Keys, transactions or scans: what is bounded in one call.
std::size_t size_of(const Step& step);

// About how many bytes the step was answered, and how many a commit writes.
std::size_t answered_bytes(const Step& step);
std::size_t written_bytes(const Step& step);

// The most of them in one call of that kind.
std::size_t most_in_call(CallKind kind, const Limits& limits);

// The places of the step's keys, ascending, each once.
std::vector<std::uint64_t> places_of(const Step& step, const Store& store);

struct StoreCall {
  CallKind kind = CallKind::commit;
  bool urgent = false;
  std::vector<std::uint64_t> places;
  std::vector<Task*> tasks;                    // Each is suspended at a step of that kind.
  bool counted_slow = false;                   // When it was begun, one of its places was slow.
  std::chrono::steady_clock::duration took{};  // Of perform().

  // Gives versions to the writes. Before perform(), on the driver's thread, so that they are drawn
  // in the order of the plans.
  void stamp(Entropy& entropy) const;

  // Blocks until each step has its answer. Touches nothing but the steps, so any thread may do it
  // while nobody else uses the tasks.
  void perform(Store& store, Entropy& entropy);
};

}  // namespace once::detail
