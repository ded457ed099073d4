// What the suite runs on: the store that $ONCE_TEST_STORE names, or else every one that needs no
// server, and memory under each decorator.
#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "once/retrying_store.h"
#include "testing/conformance/store_conformance.h"
#include "testing/stores/chosen_store.h"
#include "testing/stores/embedded_subject.h"

namespace once::testing {
namespace {

bool is_chosen(const StoreHarness& harness) {
  if (std::getenv("ONCE_TEST_STORE") == nullptr) return !harness.has_server();
  return &chosen_harness({}) == &harness;
}

std::vector<StoreVariant> chosen_variants() {
  std::vector<StoreVariant> variants;
  for (const StoreHarness& harness : store_harnesses()) {
    if (!is_chosen(harness)) continue;
    variants.insert(variants.end(), harness.variants.begin(), harness.variants.end());
  }
  return variants;
}

std::vector<StoreVariant> durable_variants() {
  std::vector<StoreVariant> variants = chosen_variants();
  std::erase_if(variants, [](const StoreVariant& variant) { return !variant.durable; });
  return variants;
}

// Retries pause on a clock of their own, so that they do not make the suite's items expire.
Clock& pauses() {
  static ManualClock clock;
  return clock;
}

std::unique_ptr<Store> without_faults(Store& inner) {
  return inject_faults(inner, FaultPlan{}, pauses());
}

// Whole groups, because a group of which a part fails has no order to keep: see retrying_store.h.
std::unique_ptr<Store> often_unavailable(Store& inner) {
  return inject_faults(inner, {.seed = 7, .fail_before = 0.2, .scope = FaultPlan::Scope::group},
                       pauses());
}

std::unique_ptr<Store> retried(Store& inner) {
  return retry(inner, {.deadline = kAttemptLife}, pauses());
}

std::unique_ptr<Store> metered(Store& inner) { return meter(inner); }

StoreVariant over_memory(std::string name, std::vector<EmbeddedSubject::Decorate> decorators) {
  return {.name = std::move(name), .open = [decorators] {
            return std::make_unique<EmbeddedSubject>(
                [](Clock& clock) { return open_memory({}, clock); }, decorators);
          }};
}

std::vector<StoreVariant> decorated_variants() {
  if (std::getenv("ONCE_TEST_STORE") != nullptr) return {};
  return {over_memory("faulty_without_faults", {without_faults}),
          over_memory("retrying_plain", {retried}),
          over_memory("retrying_often_unavailable", {often_unavailable, retried}),
          over_memory("metered_plain", {metered})};
}

std::string name_of_case(const ::testing::TestParamInfo<StoreVariant>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(stores, StoreConformance, ::testing::ValuesIn(chosen_variants()),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(stores, DurableStoreConformance, ::testing::ValuesIn(durable_variants()),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(decorators, StoreConformance, ::testing::ValuesIn(decorated_variants()),
                         name_of_case);

}  // namespace
}  // namespace once::testing
