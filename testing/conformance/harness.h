// What the conformance suite needs to know of a store. A new store brings a Subject of its own and
// one INSTANTIATE_TEST_SUITE_P; see memory_instances.cc.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "once/store.h"

namespace once::testing {

// A store under test, empty when opened.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual Store& store() = 0;

  // Returns when store().now() has come to `time`: at once where the store's clock can be moved,
  // otherwise by await_time().
  virtual void wait_until(Time time) = 0;

  // Closes the store and opens it again on the same data. Only of durable ones.
  virtual void reopen() {}
};

struct Harness {
  std::string name;  // ctest shows it behind the name of each case.
  std::function<std::unique_ptr<Subject>()> open;

  // How long the suite lets items live that are to expire. Short where time is real: the suite
  // never counts on such an item being there still.
  Duration short_life = std::chrono::seconds(10);

  bool tells_numbers = true;     // Committed::numbers of adds and raises are all known.
  bool tells_first_lost = true;  // Lost names the first write whose guard did not hold.
  bool sweeps = true;            // sweep() itself removes what expired, not the engine.
};

inline void PrintTo(const Harness& harness, std::ostream* out) { *out << harness.name; }

// For stores whose clock runs by itself.
void await_time(Store& store, Time time);

}  // namespace once::testing
