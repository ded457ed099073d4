// Claim to completion: take a new key, then complete it with a result of 100 bytes. The yardsticks
// do the same two writes and nothing else: a mutexed map, and bare RocksDB, get and put, then put.
#include <atomic>
#include <cstdio>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "bench/bare_rocksdb.h"
#include "bench/claims.h"
#include "bench/directory.h"
#include "bench/harness.h"
#include "once/batching_driver.h"
#include "once/claims.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "once/rocksdb_store.h"

namespace once::bench {
namespace {

const Bytes kResult(100, 'r');

enum class Engine : std::uint8_t { memory, rocksdb };

struct Setting {
  Engine engine = Engine::memory;
  std::size_t clients = 1;
  std::size_t claims = 0;
  std::string directory;
};

std::unique_ptr<Store> open_engine(const Setting& setting, const TemporaryDirectory& directory) {
  if (setting.engine == Engine::memory) return open_memory();
  auto opened = open_rocksdb({.directory = directory.path() / "db"});
  insist(opened.has_value(), "opening rocksdb");
  return std::move(*opened);
}

std::string name_of(std::size_t number) { return claim_key(number).partition.home; }

// Each client a thread that calls, and waits for every answer.
class Blocking {
 public:
  Blocking(const Setting& setting, const TemporaryDirectory& directory)
      : store_(open_engine(setting, directory)) {}

  void claim(std::size_t number) {
    const std::string name = name_of(number);
    const auto taken = claims_.take(name, {.owner = "bench"});
    insist(taken && std::holds_alternative<Claimed>(*taken), "take");
    const auto done = claims_.complete(name, std::get<Claimed>(*taken).ticket, kResult);
    insist(done && std::holds_alternative<Settled>(*done), "complete");
  }

 private:
  std::unique_ptr<Store> store_;
  LocalClaims claims_{*store_, "bench"};
};

class Bare {
 public:
  Bare(const Setting& setting, const TemporaryDirectory& directory) {
    if (setting.engine == Engine::memory) return;
    bare_.emplace(RocksDbOptions{.directory = directory.path() / "db"});
  }

  void claim(std::size_t number) {
    const std::string name = name_of(number);
    const Bytes busy(60, 'b');
    if (bare_) {
      std::string found;
      insist(bare_->db().Get({}, name, &found).IsNotFound(), "a new key on bare RocksDB");
      bare_->put(name, busy);
      return bare_->put(name, busy + kResult);
    }
    for (const Bytes& value : {busy, busy + kResult}) {
      const std::lock_guard lock(mutex_);
      map_[name] = value;
    }
  }

 private:
  std::optional<BareRocksDb> bare_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bytes> map_;
};

template <class Target>
double claim_all(const Setting& setting) {
  const TemporaryDirectory directory(setting.directory);
  Target target(setting, directory);
  std::vector<std::pair<std::size_t, std::size_t>> blocks(setting.clients);
  return seconds_of({.threads = setting.clients,
                     .operations = setting.claims,
                     .block = setting.claims / setting.clients,
                     .prepare = [&](std::size_t client, std::size_t first,
                                    std::size_t count) { blocks[client] = {first, count}; },
                     .perform =
                         [&](std::size_t client) {
                           const auto [first, count] = blocks[client];
                           for (std::size_t i = 0; i < count; ++i) target.claim(first + i);
                         }});
}

// As in a server: clients that wait for their answers without a thread, on the batching driver.
class Batched {
 public:
  Batched(const Setting& setting, const TemporaryDirectory& directory)
      : setting_(setting),
        store_(open_engine(setting, directory)),
        through_(static_cast<std::ptrdiff_t>(setting.clients)),
        driver_(*store_) {}

  double run() {
    return seconds_of({.operations = 1,
                       .block = 1,
                       .prepare = [](std::size_t, std::size_t, std::size_t) {},
                       .perform =
                           [this](std::size_t) {
                             for (std::size_t i = 0; i < setting_.clients; ++i) take_next();
                             through_.wait();
                           }});
  }

 private:
  void take_next() {
    const std::size_t number = next_.fetch_add(1);
    if (number >= setting_.claims) return through_.count_down();
    const Key key = claims::claim_key("bench", name_of(number));
    const auto started = driver_.start<ClaimOutcome>(
        claims::take(key, {.owner = "bench"}), [this, key](Result<ClaimOutcome> taken) {
          insist(taken && std::holds_alternative<Claimed>(*taken), "take");
          complete(key, std::get<Claimed>(*taken).ticket);
        });
    insist(started.has_value(), "starting a plan");
  }

  void complete(const Key& key, const Ticket& ticket) {
    const auto started = driver_.start<SettleOutcome>(
        claims::complete(key, ticket, kResult), [this](const Result<SettleOutcome>& done) {
          insist(done && std::holds_alternative<Settled>(*done), "complete");
          take_next();
        });
    insist(started.has_value(), "starting a plan");
  }

  const Setting setting_;
  std::unique_ptr<Store> store_;
  std::atomic<std::size_t> next_ = 0;
  std::latch through_;
  BatchingDriver driver_;  // Last: it uses all of the above.
};

double claim_batched(const Setting& setting) {
  const TemporaryDirectory directory(setting.directory);
  return Batched(setting, directory).run();
}

// `target` is the one of the blocking driver.
void compare(const Setting& setting, std::size_t rounds, double target = 0) {
  const std::string who = std::to_string(setting.clients) + " client(s), ";
  run({.name = who + "blocking",
       .operations = setting.claims,
       .target = target,
       .rounds = rounds,
       .ours = [&] { return claim_all<Blocking>(setting); },
       .yardstick = [&] { return claim_all<Bare>(setting); }});
  run({.name = who + "batching",
       .operations = setting.claims,
       .rounds = rounds,
       .ours = [&] { return claim_batched(setting); },
       .yardstick = [&] { return claim_all<Bare>(setting); }});
}

void run_all(const Options& options) {
  const std::size_t rounds = options.quick ? 1 : 5;
  const std::size_t share = options.quick ? 20 : 1;
  print_heading("claim to completion on memory", "the same two writes to a mutexed map");
  // Not fewer for one client: the caches would hold them, where the map is three times as fast.
  compare({Engine::memory, 1, 200'000, options.directory}, rounds, 0.4);
  for (const std::size_t clients : {16, 50}) {
    compare({Engine::memory, clients, 200'000 / share, options.directory}, rounds);
  }
  print_heading("claim to completion on rocksdb, synced", "bare RocksDB: get, put, put");
  for (const auto& [clients, claims] :
       {std::pair<std::size_t, std::size_t>{1, 2'000}, {16, 16'000}, {50, 30'000}}) {
    compare({Engine::rocksdb, clients, claims / share, options.directory}, rounds);
  }
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  once::bench::run_all(once::bench::options_from(count, words));
  return once::bench::exit_code();
}
