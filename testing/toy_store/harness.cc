#include "testing/stores/embedded_subject.h"
#include "testing/toy_store/toy_store.h"

namespace once::testing {

std::vector<StoreHarness> toy_harnesses() {
  const auto open = [](Clock& clock) { return toy::open_toy(clock); };
  return {{.name = "toy",
           .variants = {{.name = "toy",
                         .open = [=] { return std::make_unique<EmbeddedSubject>(open); },
                         .documented_in = "testing/toy_store/README.md"}},
           .open = open}};
}

}  // namespace once::testing
