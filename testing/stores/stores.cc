#include "testing/stores/stores.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "once/retrying_store.h"
#include "stores/decorators/decorator.h"

namespace once::testing {

// The build writes test_stores.inc: ONCE_STORE(name) for each once_store(name).
#define ONCE_STORE(name) std::vector<StoreHarness> name##_harnesses();
#include "test_stores.inc"
#undef ONCE_STORE

namespace {

std::vector<StoreHarness> all_harnesses() {
  std::vector<StoreHarness> all;
  for (const auto& harnesses : {
#define ONCE_STORE(name) name##_harnesses(),
#include "test_stores.inc"
#undef ONCE_STORE
       }) {
    all.insert(all.end(), harnesses.begin(), harnesses.end());
  }
  return all;
}

class InTestsTime final : public Decorator<Store> {
 public:
  InTestsTime(std::unique_ptr<Store> attempts, std::unique_ptr<Store> retried)
      : Decorator(*retried), attempts_(std::move(attempts)), retried_(std::move(retried)) {
    limits_.clock_error = {};
  }

  const Limits& limits() const override { return limits_; }

 private:
  const std::unique_ptr<Store> attempts_;
  const std::unique_ptr<Store> retried_;
  Limits limits_ = inner_.limits();
};

}  // namespace

void PrintTo(const StoreVariant& variant, std::ostream* out) { *out << variant.name; }

std::span<const StoreHarness> store_harnesses() {
  static const std::vector<StoreHarness> all = all_harnesses();
  return all;
}

const StoreHarness* find_harness(std::string_view name) {
  const auto all = store_harnesses();
  const auto found = std::ranges::find(all, name, &StoreHarness::name);
  return found == all.end() ? nullptr : &*found;
}

const StoreHarness& chosen_harness(std::initializer_list<std::string_view> otherwise) {
  const StoreHarness* found = nullptr;
  if (const char* const named = std::getenv("ONCE_TEST_STORE")) {
    found = find_harness(named);
  } else {
    for (const std::string_view name : otherwise) {
      if (found == nullptr) found = find_harness(name);
    }
  }
  if (found == nullptr) {
    std::fprintf(stderr, "ONCE_TEST_STORE names no store of this build\n");
    std::abort();
  }
  return *found;
}

void await_time(Store& store, Time time) {
  while (store.now() < time) system_clock().sleep(std::min(time - store.now(), Duration(5)));
}

std::unique_ptr<Store> retried_in_tests_time(std::unique_ptr<Store> attempts) {
  std::unique_ptr<Store> retried = retry(*attempts);
  return std::make_unique<InTestsTime>(std::move(attempts), std::move(retried));
}

}  // namespace once::testing
