// Appends of 1, 16 and 1000 events by 1 and 16 appenders, on memory and on rocksdb, synced. The
// yardsticks write the same bytes and promise nothing about indexes: a mutexed list of them, and
// bare RocksDB, one synced put a batch, whose own threads share a sync.
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/bare_rocksdb.h"
#include "bench/claims.h"
#include "bench/directory.h"
#include "bench/harness.h"
#include "once/batching_driver.h"
#include "once/blocking_driver.h"
#include "once/log.h"
#include "once/memory_store.h"
#include "once/rocksdb_store.h"

namespace once::bench {
namespace {

constexpr std::size_t kEventBytes = 100;

enum class Engine : std::uint8_t { memory, rocksdb };
enum class Driver : std::uint8_t { blocking, batching };
enum class Streams : std::uint8_t { one, one_each };

struct Setting {
  Engine engine = Engine::memory;
  Driver driver = Driver::blocking;
  Streams streams = Streams::one;
  std::size_t appenders = 1;
  std::size_t events = 1;  // In one append.
  std::size_t appends = 0;
  std::string directory;
};

std::vector<LogEvent> batch_of(std::size_t number, std::size_t events) {
  std::string data = std::to_string(mixed(number));
  data.resize(kEventBytes, 'e');
  return std::vector<LogEvent>(events, LogEvent{data, std::nullopt});
}

std::unique_ptr<Store> open_engine(Engine engine, const TemporaryDirectory& directory) {
  if (engine == Engine::memory) return open_memory();
  auto opened = open_rocksdb({.directory = directory.path() / "db"});
  insist(opened.has_value(), "opening rocksdb");
  return std::move(*opened);
}

class Ours {
 public:
  Ours(const Setting& setting, const TemporaryDirectory& directory)
      : setting_(setting),
        store_(open_engine(setting.engine, directory)),
        blocking_(*store_),
        batching_(*store_) {}

  void append(std::size_t appender, std::vector<LogEvent> events) {
    const std::size_t which = setting_.streams == Streams::one ? 0 : appender;
    logs::Stream stream = logs::stream("bench", "stream-" + std::to_string(which));
    Plan<AppendOutcome> plan = logs::append(std::move(stream), std::move(events), {});
    const auto outcome = setting_.driver == Driver::blocking ? blocking_.run(std::move(plan))
                                                             : batching_.run(std::move(plan));
    insist(outcome && std::holds_alternative<Appended>(*outcome), "append");
  }

 private:
  const Setting setting_;
  std::unique_ptr<Store> store_;
  BlockingDriver blocking_;
  BatchingDriver batching_;
};

// As many bytes as a batch takes, under a key of their own.
class Bare {
 public:
  Bare(const Setting& setting, const TemporaryDirectory& directory) {
    if (setting.engine == Engine::rocksdb)
      bare_.emplace(RocksDbOptions{.directory = directory.path() / "db"});
  }

  void append(std::size_t appender, const std::vector<LogEvent>& events) {
    Bytes value;
    for (const LogEvent& event : events) value += event.data;
    if (bare_) {
      const std::uint64_t index = next_.fetch_add(1);
      return bare_->put("log/bench/stream-" + std::to_string(appender) + std::to_string(index),
                        value);
    }
    const std::lock_guard lock(mutex_);
    list_.push_back(std::move(value));
  }

 private:
  std::optional<BareRocksDb> bare_;
  std::atomic<std::uint64_t> next_ = 100'000'000;
  std::mutex mutex_;
  std::vector<Bytes> list_;
};

template <class Target>
double append_all(const Setting& setting) {
  const TemporaryDirectory directory(setting.directory);
  Target target(setting, directory);
  std::vector<std::vector<std::vector<LogEvent>>> blocks(setting.appenders);
  const auto prepare = [&](std::size_t thread, std::size_t first, std::size_t count) {
    blocks[thread].clear();
    for (std::size_t i = 0; i < count; ++i) {
      blocks[thread].push_back(batch_of(first + i, setting.events));
    }
  };
  const auto perform = [&](std::size_t thread) {
    for (auto& events : blocks[thread]) target.append(thread, std::move(events));
  };
  return seconds_of({.threads = setting.appenders,
                     .operations = setting.appends,
                     .block = std::min<std::size_t>(512, setting.appends / setting.appenders),
                     .prepare = prepare,
                     .perform = perform});
}

void compare(const Setting& setting, std::size_t rounds) {
  const std::string who = setting.appenders == 1
                              ? "1 appender"
                              : std::to_string(setting.appenders) +
                                    (setting.streams == Streams::one ? " on one stream" : " apart");
  const std::string how = setting.driver == Driver::blocking ? ", blocking" : ", batching";
  const double rate =
      run({.name = "appends of " + std::to_string(setting.events) + ", " + who + how,
           .operations = setting.appends,
           .rounds = rounds,
           .ours = [&] { return append_all<Ours>(setting); },
           .yardstick = [&] { return append_all<Bare>(setting); }});
  if (setting.events == 1) return;
  std::printf("%-44s %9.1f k/s\n", "    in events",
              rate * static_cast<double>(setting.events) / 1e3);
}

void run_engine(Engine engine, const Options& options) {
  const bool memory = engine == Engine::memory;
  const std::size_t rounds = options.quick ? 1 : 3;
  const std::size_t share = options.quick ? 20 : 1;
  using Case = std::pair<std::size_t, std::size_t>;
  for (const auto& [events, appends] :
       {Case{1, memory ? 160'000 : 4'800}, {16, memory ? 80'000 : 3'200}, {1'000, 1'600}}) {
    Setting setting{.engine = engine,
                    .events = events,
                    .appends = appends / share,
                    .directory = options.directory};
    compare(setting, rounds);
    setting.appenders = 16;
    compare(setting, rounds);
    setting.driver = Driver::batching;
    compare(setting, rounds);
    setting.streams = Streams::one_each;
    compare(setting, rounds);
  }
}

// Appends that wait on one stream are one commit: as fast as on streams of their own.
void compare_streams(Engine engine, const Options& options) {
  const std::size_t share = options.quick ? 20 : 1;
  Setting one{.engine = engine,
              .driver = Driver::batching,
              .streams = Streams::one,
              .appenders = 16,
              .appends = (engine == Engine::memory ? 160'000 : 16'000) / share,
              .directory = options.directory};
  Setting apart = one;
  apart.streams = Streams::one_each;
  run({.name = "appends of 1, 16 on one stream, batching",
       .operations = one.appends,
       .target = 0.8,
       .rounds = options.quick ? 1U : 5U,
       .ours = [&] { return append_all<Ours>(one); },
       .yardstick = [&] { return append_all<Ours>(apart); }});
}

void run_all(const Options& options) {
  print_heading("append on memory, events of 100 bytes", "the same bytes in a mutexed list");
  run_engine(Engine::memory, options);
  print_heading("append on rocksdb, synced", "bare RocksDB, a synced put a batch");
  run_engine(Engine::rocksdb, options);
  print_heading("one stream, on memory and on rocksdb", "a stream for each appender");
  compare_streams(Engine::memory, options);
  compare_streams(Engine::rocksdb, options);
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  once::bench::run_all(once::bench::options_from(count, words));
  return once::bench::exit_code();
}
