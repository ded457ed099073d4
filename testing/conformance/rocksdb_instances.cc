#include "once/rocksdb_store.h"

#include <stdexcept>

#include "testing/conformance/embedded_subject.h"
#include "testing/conformance/store_conformance.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

class RocksDbSubject final : public Subject {
 public:
  explicit RocksDbSubject(Durability durability)
      : embedded_([this, durability](Clock& clock) { return open(durability, clock); }) {}

  Store& store() override { return embedded_.store(); }
  void wait_until(Time time) override { embedded_.wait_until(time); }
  void reopen() override { embedded_.reopen(); }

 private:
  std::unique_ptr<Store> open(Durability durability, Clock& clock) {
    const RocksDbOptions options{.directory = directory_.path(),
                                 .durability = durability,
                                 .keep_free_bytes = 0,
                                 .cache_bytes = 4U << 20,
                                 .memtable_bytes = 4U << 20,
                                 .sweep_every = Duration::zero()};
    Result<std::unique_ptr<Store>> store = open_rocksdb(options, clock);
    if (!store) throw std::runtime_error(store.error().message);
    return std::move(*store);
  }

  TempDir directory_;
  EmbeddedSubject embedded_;
};

auto instances() {
  const auto harness = [](std::string name, Durability durability) {
    return Harness{.name = std::move(name),
                   .open = [=] { return std::make_unique<RocksDbSubject>(durability); }};
  };
  return ::testing::Values(harness("synced", Durability::synced),
                           harness("relaxed", Durability::relaxed));
}

INSTANTIATE_TEST_SUITE_P(rocksdb, StoreConformance, instances());
INSTANTIATE_TEST_SUITE_P(rocksdb, DurableStoreConformance, instances());

}  // namespace
}  // namespace once::testing
