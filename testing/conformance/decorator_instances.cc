#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "once/retrying_store.h"
#include "testing/conformance/embedded_subject.h"
#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

std::unique_ptr<Store> open_inner(Clock& clock) { return open_memory({}, clock); }

std::function<std::unique_ptr<Subject>()> over_memory(
    std::vector<EmbeddedSubject::Decorate> decorators) {
  return [decorators] { return std::make_unique<EmbeddedSubject>(open_inner, decorators); };
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

INSTANTIATE_TEST_SUITE_P(faulty, StoreConformance,
                         ::testing::Values(Harness{.name = "without_faults",
                                                   .open = over_memory({without_faults})}));

INSTANTIATE_TEST_SUITE_P(retrying, StoreConformance,
                         ::testing::Values(Harness{.name = "plain", .open = over_memory({retried})},
                                           Harness{
                                               .name = "often_unavailable",
                                               .open = over_memory({often_unavailable, retried})}));

INSTANTIATE_TEST_SUITE_P(metered, StoreConformance,
                         ::testing::Values(Harness{.name = "plain",
                                                   .open = over_memory({metered})}));

}  // namespace
}  // namespace once::testing
