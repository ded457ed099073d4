#include <string>
#include <utility>

#include "stores/rocksdb/commit_replay.h"
#include "stores/rocksdb/engine.h"
#include "stores/rocksdb/rocksdb_store.h"
#include "stores/rocksdb/write_table.h"

namespace once {
namespace {

constexpr Duration kTryAgainAfter = std::chrono::milliseconds(20);

// A log up to this size is not flushed after a replay: replaying it again is faster, and a store
// may be opened for a single commit.
constexpr std::size_t kMaxReplayedAgain = 256U << 10;

Result<void> take_batch(rocksdb::DB& db, std::string_view bytes) {
  rocksdb::WriteBatch batch{std::string(bytes)};
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  const rocksdb::Status status = db.Write(unlogged, &batch);
  if (!status.ok()) return std::unexpected(error_of(status, "cannot take a commit from the log"));
  return {};
}

std::unexpected<Error> in_use(const RocksDbOptions& options, pid_t holder) {
  const std::string who =
      holder > 0 ? "another process (pid " + std::to_string(holder) + ")" : "another process";
  return failure(ErrorCode::unavailable,
                 who + " has the store open: " + options.directory.string());
}

Result<void> open_engine(Engine& engine, const RocksDbOptions& options) {
  rocksdb::DB* db = nullptr;
  auto watch = std::make_shared<FlushWatch>();
  watch->watch_for(engine.log);
  rocksdb::Options how = engine_options(options, *engine.files, engine.filter);
  how.listeners.push_back(std::move(watch));
  how.memtable_factory = std::make_shared<WriteTableFactory>();
  how.allow_concurrent_memtable_write = false;
  const rocksdb::Status status = rocksdb::DB::Open(how, options.directory.string(), &db);
  engine.db.reset(db);
  if (!status.ok()) return std::unexpected(error_of(status, "cannot open the store"));
  return {};
}

Result<void> open_in_turn(Engine& engine, const RocksDbOptions& options, Clock& clock) {
  const Time give_up = later(clock.now(), options.wait_for_turn);
  while (const std::optional<pid_t> holder = engine.use->take_turn()) {
    if (clock.now() >= give_up) return in_use(options, *holder);
    clock.sleep(kTryAgainAfter);
  }
  return open_engine(engine, options);
}

Result<void> start_log(Engine& engine, const RocksDbOptions& options) {
  rocksdb::DB& db = *engine.db;
  const auto replayed =
      replay_commits(*engine.files, options.directory.string(),
                     [&db](std::string_view batch) { return take_batch(db, batch); });
  if (!replayed) return std::unexpected(replayed.error());
  rocksdb::Status status;
  std::optional<rocksdb::SequenceNumber> applied = db.GetLatestSequenceNumber();
  if (replayed->bytes > kMaxReplayedAgain) {
    status = db.Flush({});
    applied.reset();
  }
  if (status.ok()) status = engine.log.start(*replayed, applied);
  if (!status.ok()) return std::unexpected(error_of(status, "cannot open the store"));
  return {};
}

Result<void> start_time(Engine& engine) {
  const Result<Time> recorded = recorded_time(*engine.db);
  if (!recorded) return std::unexpected(recorded.error());
  engine.time.start_no_earlier_than(*recorded);
  rocksdb::WriteBatch batch;
  record_time(engine.time.to_record(), batch);
  const GroupNumber group = engine.log.enqueue(batch.Data());
  const rocksdb::Status status = engine.log.reach(group, Reach::synced);
  if (!status.ok()) return std::unexpected(error_of(status, "cannot write to the store"));
  Result<void> applied = take_batch(*engine.db, batch.Data());
  if (applied) engine.log.applied(group, *engine.db);
  return applied;
}

}  // namespace

Result<std::unique_ptr<Store>> open_rocksdb_on(rocksdb::Env& env, const RocksDbOptions& options,
                                               Clock& clock) {
  if (Result<void> ready = prepare_directory(options.directory); !ready) {
    return std::unexpected(std::move(ready.error()));
  }
  auto engine = std::make_unique<Engine>(clock, env, options);
  auto use = DirectoryUse::begin(options.directory);
  if (!use) return std::unexpected(std::move(use.error()));
  engine->use = std::move(*use);
  Result<void> ready = open_in_turn(*engine, options, clock);
  if (ready) ready = settle_format(*engine->db);
  if (ready) ready = start_log(*engine, options);
  if (ready) ready = start_time(*engine);
  if (!ready) return std::unexpected(std::move(ready.error()));
  return std::make_unique<RocksDbStore>(std::move(engine), options, clock);
}

Result<std::unique_ptr<Store>> open_rocksdb(const RocksDbOptions& options, Clock& clock) {
  return open_rocksdb_on(*rocksdb::Env::Default(), options, clock);
}

}  // namespace once
