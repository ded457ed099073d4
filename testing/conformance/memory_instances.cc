#include "once/memory_store.h"
#include "testing/conformance/embedded_subject.h"
#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

std::unique_ptr<Subject> open_plain() {
  return std::make_unique<EmbeddedSubject>([](Clock& clock) { return open_memory({}, clock); });
}

// Room for everything the suite writes: nothing has to make way.
std::unique_ptr<Subject> open_bounded() {
  return std::make_unique<EmbeddedSubject>(
      [](Clock& clock) { return open_memory({.max_bytes = 256U << 20}, clock); });
}

// On a clock that cannot be moved, as the network stores are.
class RealTimeSubject final : public Subject {
 public:
  Store& store() override { return *store_; }
  void wait_until(Time time) override { await_time(*store_, time); }

 private:
  std::unique_ptr<Store> store_ = open_memory();
};

INSTANTIATE_TEST_SUITE_P(
    memory, StoreConformance,
    ::testing::Values(Harness{.name = "plain", .open = open_plain},
                      Harness{.name = "bounded", .open = open_bounded},
                      Harness{.name = "real_time",
                              .open = [] { return std::make_unique<RealTimeSubject>(); },
                              .short_life = Duration(5)}));

}  // namespace
}  // namespace once::testing
