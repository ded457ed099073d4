// The memory store against absl::flat_hash_map behind one mutex.
#include <absl/container/flat_hash_map.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "bench/claims.h"
#include "bench/harness.h"
#include "once/memory_store.h"

namespace once::bench {
namespace {

class Yardstick {
 public:
  bool put_if_absent(const Write& write) {
    const std::lock_guard lock(mutex_);
    return map_.try_emplace(write.key.partition.home, std::get<Bytes>(write.value)).second;
  }
  std::optional<std::string> get(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = map_.find(key.partition.home);
    if (found == map_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::mutex mutex_;
  absl::flat_hash_map<std::string, std::string> map_;
};

void put_one(Store& store, const Write& write) {
  const auto outcome = store.commit({&write, 1});
  insist(outcome && committed(*outcome), "put-if-absent on memory");
}
void put_one(Yardstick& map, const Write& write) {
  insist(map.put_if_absent(write), "put-if-absent on the map");
}
void get_one(Store& store, const Key& key) {
  const auto item = store.get(key);
  insist(item && *item, "get on memory");
}
void get_one(Yardstick& map, const Key& key) { insist(map.get(key).has_value(), "get on the map"); }

template <class Target>
double put_all(Target& target, std::size_t threads, std::size_t keys) {
  std::vector<std::vector<Write>> blocks(threads);
  return seconds_of({.threads = threads,
                     .operations = keys,
                     .prepare = [&](std::size_t thread, std::size_t first,
                                    std::size_t count) { blocks[thread] = claims(first, count); },
                     .perform =
                         [&](std::size_t thread) {
                           for (const Write& write : blocks[thread]) put_one(target, write);
                         }});
}

template <class Target>
double get_all(Target& target, std::size_t threads, std::size_t operations, std::size_t keys) {
  std::vector<std::vector<Key>> blocks(threads);
  const auto prepare = [&](std::size_t thread, std::size_t first, std::size_t count) {
    blocks[thread].clear();
    for (std::size_t i = 0; i < count; ++i) {
      blocks[thread].push_back(claim_key(mixed(first + i) % keys));
    }
  };
  return seconds_of({.threads = threads,
                     .operations = operations,
                     .prepare = prepare,
                     .perform = [&](std::size_t thread) {
                       for (const Key& key : blocks[thread]) get_one(target, key);
                     }});
}

void compare_puts(std::size_t threads, std::size_t keys, std::size_t rounds, double target) {
  run({.name = "put-if-absent, " + std::to_string(threads) + " thread(s)",
       .operations = keys,
       .target = target,
       .rounds = rounds,
       .ours =
           [=] {
             const auto store = open_memory();
             return put_all<Store>(*store, threads, keys);
           },
       .yardstick =
           [=] {
             Yardstick map;
             return put_all(map, threads, keys);
           }});
}

void compare_gets(std::size_t keys, std::size_t rounds) {
  const auto store = open_memory();
  put_all<Store>(*store, 1, keys);
  Yardstick map;
  put_all(map, 1, keys);
  for (const std::size_t threads : {1, 2}) {
    run({.name = "get, " + std::to_string(threads) + " thread(s)",
         .operations = keys,
         .rounds = rounds,
         .ours = [&] { return get_all<Store>(*store, threads, keys, keys); },
         .yardstick = [&] { return get_all(map, threads, keys, keys); }});
  }
}

template <class Target>
double bytes_beyond_payload(Target& target, std::size_t keys, bool expires) {
  std::size_t payload = 0;
  const std::size_t before = allocated_bytes();
  for (std::size_t i = 0; i < keys; ++i) {
    Write write = claim(i);
    if (expires) write.expiry = Time(std::chrono::days(40'000));
    payload += payload_of(write);
    put_one(target, write);
  }
  const std::size_t taken = allocated_bytes() - before;
  return (static_cast<double>(taken) - static_cast<double>(payload)) / static_cast<double>(keys);
}

void weigh(std::size_t keys) {
  const auto lasting = open_memory();
  const auto expiring = open_memory();
  const auto bounded = open_memory({.max_bytes = std::size_t{1} << 40});
  Yardstick map;
  std::printf("\nBytes an item beyond its key and value, %zu items, target at most 60\n", keys);
  std::printf("  %-42s %13.1f\n", "ours, without expiry",
              bytes_beyond_payload<Store>(*lasting, keys, false));
  std::printf("  %-42s %13.1f\n", "ours, with expiry",
              bytes_beyond_payload<Store>(*expiring, keys, true));
  std::printf("  %-42s %13.1f\n", "ours, with expiry in a bounded store",
              bytes_beyond_payload<Store>(*bounded, keys, true));
  std::printf("  %-42s %13.1f\n", "absl::flat_hash_map<string, string>",
              bytes_beyond_payload(map, keys, false));
}

void run_all(const Options& options) {
  const std::size_t fallback = options.quick ? 100'000 : 1'000'000;
  const std::size_t keys = options.keys != 0 ? options.keys : fallback;
  const std::size_t rounds = keys > 2'000'000 ? 1 : options.quick ? 3 : 5;
  print_heading("memory, " + std::to_string(keys) + " claim-sized keys",
                "absl::flat_hash_map behind one mutex");
  compare_puts(1, keys, rounds, 0.5);
  compare_puts(2, keys, rounds, 1.0);
  compare_gets(keys, rounds);
  weigh(std::min<std::size_t>(keys, 2'000'000));
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  once::bench::run_all(once::bench::options_from(count, words));
  return once::bench::exit_code();
}
