#include <stdexcept>

#include "once/rocksdb_store.h"
#include "stores/decorators/decorator.h"
#include "testing/stores/embedded_subject.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

std::unique_ptr<Store> open_directory(const std::filesystem::path& directory, Durability durability,
                                      Clock& clock) {
  const RocksDbOptions options{.directory = directory,
                               .durability = durability,
                               .keep_free_bytes = 0,
                               .cache_bytes = 4U << 20,
                               .memtable_bytes = 4U << 20,
                               .sweep_every = Duration::zero()};
  Result<std::unique_ptr<Store>> store = open_rocksdb(options, clock);
  if (!store) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

class RocksDbSubject final : public Subject {
 public:
  explicit RocksDbSubject(Durability durability)
      : embedded_([this, durability](Clock& clock) {
          return open_directory(directory_.path(), durability, clock);
        }) {}

  Store& store() override { return embedded_.store(); }
  void wait_until(Time time) override { embedded_.wait_until(time); }
  void reopen() override { embedded_.reopen(); }

 private:
  TempDir directory_;
  EmbeddedSubject embedded_;
};

StoreVariant variant(std::string name, Durability durability) {
  return {.name = std::move(name),
          .open = [=] { return std::make_unique<RocksDbSubject>(durability); },
          .durable = true};
}

// A store, and the directory that goes away after it.
class InTempDir final : public Decorator<Store> {
 public:
  InTempDir(std::unique_ptr<TempDir> directory, std::unique_ptr<Store> store)
      : Decorator(*store), directory_(std::move(directory)), store_(std::move(store)) {}

 private:
  const std::unique_ptr<TempDir> directory_;
  const std::unique_ptr<Store> store_;
};

std::unique_ptr<Store> open_in_temp_dir(Clock& clock) {
  auto directory = std::make_unique<TempDir>();
  auto store = open_directory(directory->path(), Durability::relaxed, clock);
  return std::make_unique<InTempDir>(std::move(directory), std::move(store));
}

}  // namespace

std::vector<StoreHarness> rocksdb_harnesses() {
  return {{.name = "rocksdb",
           .variants = {variant("rocksdb_synced", Durability::synced),
                        variant("rocksdb_relaxed", Durability::relaxed)},
           .open = open_in_temp_dir,
           .serve = [] {
             auto directory = std::make_shared<TempDir>();
             return StoreAtAddress{directory->path() / "store", directory};
           }}};
}

}  // namespace once::testing
