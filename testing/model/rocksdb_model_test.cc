#include <gtest/gtest.h>

#include <stdexcept>

#include "once/rocksdb_store.h"
#include "testing/conformance/scratch_directory.h"
#include "testing/model/check_model.h"

namespace once::testing {
namespace {

TEST(StoreModel, RocksDbDoesWhatAPlainMapDoes) {
  std::unique_ptr<ScratchDirectory> directory;
  check_model(100, [&](Clock& clock) {
    directory = std::make_unique<ScratchDirectory>();
    auto store = open_rocksdb({.directory = directory->path(),
                               .durability = Durability::relaxed,
                               .keep_free_bytes = 0,
                               .cache_bytes = 1U << 20,
                               .memtable_bytes = 1U << 20,
                               .sweep_every = Duration::zero()},
                              clock);
    if (!store) throw std::runtime_error(store.error().message);
    return std::move(*store);
  });
}

}  // namespace
}  // namespace once::testing
