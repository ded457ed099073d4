// The rocksdb store against a bare RocksDB loop: get each key, then one batch, with the same
// options, the same values and the same durability.
#include <rocksdb/write_batch.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "bench/bare_rocksdb.h"
#include "bench/claims.h"
#include "bench/directory.h"
#include "bench/harness.h"
#include "once/rocksdb_store.h"

namespace once::bench {
namespace {

class Ours {
 public:
  explicit Ours(const RocksDbOptions& options) {
    auto opened = open_rocksdb(options);
    insist(opened.has_value(), opened ? "" : opened.error().message);
    store_ = std::move(*opened);
  }

  void put_group(std::span<const Write> writes) {
    transactions_.clear();
    for (const Write& write : writes) transactions_.emplace_back(&write, 1);
    for (const auto& answer : store_->commit_each(transactions_)) {
      insist(answer && committed(*answer), "put-if-absent on ours");
    }
  }
  void get(const Key& key) {
    const auto item = store_->get(key);
    insist(item && *item, "get on ours");
  }

 private:
  std::unique_ptr<Store> store_;
  std::vector<Transaction> transactions_;
};

class Bare {
 public:
  explicit Bare(const RocksDbOptions& options) : bare_(options) {
    if (options.durability == Durability::synced) return;
    syncing_ = std::jthread([this](std::stop_token stop) { sync_often(stop); });
  }

  void put_group(std::span<const Write> writes) {
    rocksdb::WriteBatch batch;
    for (const Write& write : writes) {
      const std::string& key = write.key.partition.home;
      const auto status = bare_.db().Get({}, bare_.db().DefaultColumnFamily(), key, &found_);
      insist(status.IsNotFound(), "put-if-absent on bare RocksDB");
      batch.Put(key, std::get<Bytes>(write.value));
    }
    bare_.write(batch);
  }
  void get(const Key& key) {
    std::string value;
    insist(bare_.db().Get({}, key.partition.home, &value).ok(), "get on bare RocksDB");
  }

 private:
  // Once a second, as ours does when it does not sync every commit.
  void sync_often(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; })) {
      if (stop.stop_requested()) return;
      insist(bare_.db().SyncWAL().ok(), "sync of bare RocksDB");
    }
  }

  BareRocksDb bare_;
  rocksdb::PinnableSlice found_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread syncing_;
};

struct Setting {
  std::size_t group = 1;
  Durability durability = Durability::relaxed;
  std::size_t keys = 0;
  std::string directory;
};

template <class Target>
double put_all(Target& target, std::size_t group, std::size_t keys) {
  std::vector<Write> block;
  return seconds_of({.operations = keys,
                     .prepare = [&](std::size_t, std::size_t first,
                                    std::size_t count) { block = claims(first, count); },
                     .perform =
                         [&](std::size_t) {
                           std::span<const Write> rest = block;
                           while (!rest.empty()) {
                             const std::size_t size = std::min(group, rest.size());
                             target.put_group(rest.first(size));
                             rest = rest.subspan(size);
                           }
                         }});
}

template <class Target>
double put_trial(const Setting& setting) {
  const TemporaryDirectory directory(setting.directory);
  Target target({.directory = directory.path() / "db", .durability = setting.durability});
  return put_all(target, setting.group, setting.keys);
}

void compare_puts(const Setting& setting, std::size_t rounds) {
  const bool synced = setting.durability == Durability::synced;
  run({.name = std::to_string(setting.keys) + " puts, groups of " + std::to_string(setting.group) +
               (synced ? ", synced" : ", not synced"),
       .operations = setting.keys,
       .target = 0.8,
       .rounds = rounds,
       .ours = [&] { return put_trial<Ours>(setting); },
       .yardstick = [&] { return put_trial<Bare>(setting); }});
}

template <class Target>
double get_some(Target& target, std::size_t operations, std::size_t keys) {
  std::vector<Key> block;
  const auto prepare = [&](std::size_t, std::size_t first, std::size_t count) {
    block.clear();
    for (std::size_t i = 0; i < count; ++i) block.push_back(claim_key(mixed(first + i) % keys));
  };
  return seconds_of({.operations = operations, .prepare = prepare, .perform = [&](std::size_t) {
                       for (const Key& key : block) target.get(key);
                     }});
}

// Puts once, then gets from what was put.
void compare_both(const Setting& setting, std::size_t rounds) {
  const TemporaryDirectory directory(setting.directory);
  Ours ours({.directory = directory.path() / "ours", .durability = setting.durability});
  Bare bare({.directory = directory.path() / "bare", .durability = setting.durability});
  run({.name = std::to_string(setting.keys) + " puts, groups of " + std::to_string(setting.group) +
               ", not synced, once",
       .operations = setting.keys,
       .target = 0.8,
       .rounds = 1,
       .ours = [&] { return put_all(ours, setting.group, setting.keys); },
       .yardstick = [&] { return put_all(bare, setting.group, setting.keys); }});
  const std::size_t operations = std::min<std::size_t>(setting.keys, 200'000);
  run({.name = "get among " + std::to_string(setting.keys),
       .operations = operations,
       .rounds = rounds,
       .ours = [&] { return get_some(ours, operations, setting.keys); },
       .yardstick = [&] { return get_some(bare, operations, setting.keys); }});
}

void run_all(const Options& options) {
  print_heading("rocksdb, put-if-absent by commit_each", "bare RocksDB: Get each, one WriteBatch");
  const auto relaxed = Durability::relaxed;
  if (options.keys != 0) {
    return compare_both({1'024, relaxed, options.keys, options.directory}, 5);
  }
  const std::size_t share = options.quick ? 20 : 1;
  const std::size_t rounds = options.quick ? 1 : 5;
  for (const auto& [group, keys] :
       {std::pair<std::size_t, std::size_t>{1, 100'000}, {64, 200'000}, {1'024, 200'000}}) {
    compare_puts({group, relaxed, keys / share, options.directory}, rounds);
  }
  for (const auto& [group, keys] :
       {std::pair<std::size_t, std::size_t>{1, 1'000}, {64, 20'000}, {1'024, 100'000}}) {
    compare_puts({group, Durability::synced, keys / share, options.directory}, rounds);
  }
  compare_both({1'024, relaxed, 400'000 / share, options.directory}, rounds);
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  once::bench::run_all(once::bench::options_from(count, words));
  return once::bench::exit_code();
}
