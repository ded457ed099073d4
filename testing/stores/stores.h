// The stores that tests run on. Each has one harness, in src/stores/NAME/harness.cc: conformance,
// the primitives, the binary, workers and benchmarks all choose theirs from this table at run time,
// most of them by $ONCE_TEST_STORE.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "once/store.h"

namespace once::testing {

// A store under the conformance suite, empty when opened.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual Store& store() = 0;

  // Returns when store().now() has come to `time`: at once where the store's clock can be moved,
  // otherwise by await_time().
  virtual void wait_until(Time time) = 0;

  // Closes the store and opens it again on the same data. Only if the variant is `durable`.
  virtual void reopen() {}
};

// One way of opening a store that the conformance suite runs on.
struct StoreVariant {
  std::string name;  // Letters, digits and _: the end of each case's name.
  std::function<std::unique_ptr<Subject>()> open;

  // How long the suite lets items live that are to expire. Short where time is real: the suite
  // never counts on such an item being there still.
  Duration short_life = std::chrono::seconds(10);

  bool durable = false;          // Data outlives the store: the suite reopens it.
  bool tells_numbers = true;     // Committed::numbers of adds and raises are all known.
  bool tells_first_lost = true;  // Lost names the first write whose guard did not hold.
  bool sweeps = true;            // sweep() itself removes what expired, not the engine.

  std::string documented_in = "docs/stores.md";  // Has a row that tells its limits.
};

void PrintTo(const StoreVariant& variant, std::ostream* out);

// A new, empty store that `once` opens by its address; `kept` is its server or directory.
struct StoreAtAddress {
  std::string address;
  std::shared_ptr<const void> kept;
};

// A store whose requests are counted, for benchmarks.
class MeasuredStore {
 public:
  virtual ~MeasuredStore() = default;

  virtual Store& store() = 0;
  virtual double requests() = 0;
  virtual double units() { return 0; }  // Of capacity, where the service counts them.

  // Seconds that the engine itself takes for `count` claims by so many clients; nothing if there is
  // no such thing to compare with.
  virtual std::optional<double> seconds_of_its_own(std::size_t /*clients*/, std::size_t /*count*/) {
    return std::nullopt;
  }
};

struct StoreHarness {
  enum class Commits { any, of_one_home, of_one_write };

  std::string name;
  std::vector<StoreVariant> variants;
  Commits commits = Commits::any;
  bool is_slow = false;  // A request each for what others do in one: tests do fewer of it.

  // Why its server cannot be started on this machine; nothing if it can. Null: it needs none.
  std::optional<std::string> (*missing)() = nullptr;

  // A new, empty store whose time is the clock's. `clock` must outlive it.
  std::unique_ptr<Store> (*open)(Clock& clock) = nullptr;

  StoreAtAddress (*serve)() = nullptr;
  std::unique_ptr<MeasuredStore> (*measure)() = nullptr;  // Null: no benchmark.

  bool has_server() const { return missing != nullptr; }
};

// In the order in which the build lists them.
std::span<const StoreHarness> store_harnesses();

// Null if this build has none of that name.
const StoreHarness* find_harness(std::string_view name);

// The one that $ONCE_TEST_STORE names, or the first of `otherwise` that this build has. Ends the
// program if there is no such harness.
const StoreHarness& chosen_harness(std::initializer_list<std::string_view> otherwise);

// For stores whose clock runs by itself.
void await_time(Store& store, Time time);

// The store with retries before it. Its time is the test's, so that its clocks have no error.
std::unique_ptr<Store> retried_in_tests_time(std::unique_ptr<Store> attempts);

}  // namespace once::testing
