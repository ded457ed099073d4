#include "once/memory_store.h"
#include "testing/stores/embedded_subject.h"

namespace once::testing {
namespace {

// On a clock that cannot be moved, as the network stores are.
class RealTimeMemory final : public Subject {
 public:
  Store& store() override { return *store_; }
  void wait_until(Time time) override { await_time(*store_, time); }

 private:
  std::unique_ptr<Store> store_ = open_memory();
};

std::unique_ptr<Subject> open_memory_subject(std::size_t max_bytes) {
  return std::make_unique<EmbeddedSubject>(
      [=](Clock& clock) { return open_memory({.max_bytes = max_bytes}, clock); });
}

}  // namespace

std::vector<StoreHarness> memory_harnesses() {
  constexpr std::size_t kRoomForAll = 256U << 20;  // Nothing that the suite writes has to make way.
  return {{.name = "memory",
           .variants = {{.name = "memory_plain", .open = [] { return open_memory_subject(0); }},
                        {.name = "memory_bounded",
                         .open = [] { return open_memory_subject(kRoomForAll); }},
                        {.name = "memory_real_time",
                         .open = [] { return std::make_unique<RealTimeMemory>(); },
                         .short_life = Duration(5)}},
           .open = [](Clock& clock) -> std::unique_ptr<Store> { return open_memory({}, clock); },
           .serve = [] { return StoreAtAddress{"memory:", nullptr}; }}};
}

}  // namespace once::testing
