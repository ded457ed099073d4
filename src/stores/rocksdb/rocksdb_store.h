// The pieces of the embedded store put together.
#pragma once

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <memory>
#include <optional>
#include <string>

#include "base/periodic.h"
#include "kernel/engine_numbers.h"
#include "once/rocksdb_store.h"
#include "stores/rocksdb/commit_log.h"
#include "stores/rocksdb/directory.h"
#include "stores/rocksdb/expiry.h"
#include "stores/rocksdb/group.h"
#include "stores/rocksdb/private_files.h"
#include "stores/rocksdb/writer.h"

namespace once {

// open_rocksdb() on another file system. `env` must outlive the store.
Result<std::unique_ptr<Store>> open_rocksdb_on(rocksdb::Env& env, const RocksDbOptions& options,
                                               Clock& clock);

// The database and what must outlive it.
struct Engine {
  Engine(Clock& clock, rocksdb::Env& env, const RocksDbOptions& options)
      : files(private_files(env)),
        time(clock),
        filter(time),
        log(*files, options.directory.string(),
            options.durability == Durability::relaxed ? AppendBy::pages : AppendBy::call) {}
  // The directory's lock ends with the database, so the log stops before; and then nothing may
  // reach the database's files that the log does not have.
  ~Engine() {
    if (db != nullptr) rocksdb::CancelAllBackgroundWork(db.get(), false);
    log.stop();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const std::unique_ptr<rocksdb::Env> files;
  StoreTime time;
  ExpiryFilter filter;
  std::unique_ptr<DirectoryUse> use;
  CommitLog log;
  std::unique_ptr<rocksdb::DB> db;
};

class RocksDbStore final : public Store {
 public:
  RocksDbStore(std::unique_ptr<Engine> engine, const RocksDbOptions& options, Clock& clock);
  ~RocksDbStore() override;

  const Limits& limits() const override;
  std::string describe() const override;
  Time now() override { return engine_->time.now(); }
  Result<Swept> sweep(std::size_t limit) override;
  Result<void> checkpoint(const std::filesystem::path& to);
  Result<void> verify();
  std::vector<EngineNumber> numbers();
  Result<void> check_writable() { return writer_.check_writable(); }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override;
  Result<ScanPage> do_scan(const ScanRequest& request) override;
  Result<ListPage> do_list(const ListRequest& request) override;
  Result<CommitOutcome> do_commit(Transaction transaction) override;
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override;

 private:
  Result<void> keep_time();
  bool sweep_in_background();
  template <class Answer>
  Result<Answer> durable(Result<Answer> answer);

  const RocksDbOptions options_;
  const std::unique_ptr<Engine> engine_;
  rocksdb::DB& db_;
  Stripes stripes_;
  Writer writer_;
  Sweeper sweeper_;
  std::optional<Periodic> syncing_;
  std::optional<Periodic> sweeping_;
};

}  // namespace once
