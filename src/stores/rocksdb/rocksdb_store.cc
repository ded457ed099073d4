#include "stores/rocksdb/rocksdb_store.h"

#include <rocksdb/utilities/checkpoint.h>

#include <utility>

#include "stores/rocksdb/engine.h"
#include "stores/rocksdb/group.h"
#include "stores/rocksdb/reader.h"

namespace once {
namespace {

constexpr Duration kSyncEvery = std::chrono::seconds(1);
constexpr std::size_t kSweptAtOnce = 1'000;

constexpr Limits kLimits = {
    .writes_per_commit = 10'000,
    .value_bytes = 16U << 20,
    .partition_bytes = 4'096,
};

std::vector<Result<CommitOutcome>> all(std::size_t count, const Error& error) {
  return std::vector<Result<CommitOutcome>>(count, std::unexpected(error));
}

}  // namespace

RocksDbStore::RocksDbStore(std::unique_ptr<Engine> engine, const RocksDbOptions& options,
                           Clock& clock)
    : options_(options),
      engine_(std::move(engine)),
      db_(*engine_->db),
      writer_(db_, engine_->log, options_, clock),
      sweeper_(db_, stripes_, writer_, engine_->time) {
  if (options_.durability == Durability::relaxed) {
    syncing_.emplace(clock, kSyncEvery, [this] {
      static_cast<void>(writer_.sync());  // Its failure closes the store for writes.
      return false;
    });
  }
  if (options_.sweep_every > Duration::zero()) {
    sweeping_.emplace(clock, options_.sweep_every, [this] { return sweep_in_background(); });
  }
}

RocksDbStore::~RocksDbStore() {
  sweeping_.reset();
  syncing_.reset();
  // A failure cannot be reported any more; what was answered as durable is durable already.
  if (keep_time()) static_cast<void>(writer_.sync());
}

const Limits& RocksDbStore::limits() const { return kLimits; }

std::string RocksDbStore::describe() const {
  const std::string_view promise =
      options_.durability == Durability::synced
          ? "synced before every answer"
          : "relaxed: synced once a second, power loss may lose the last second";
  std::string text = "rocksdb " + options_.directory.string() + ", " + std::string(promise);
  const auto ahead = std::chrono::floor<std::chrono::minutes>(engine_->time.ahead());
  if (ahead.count() > 0) {
    text += ", its time is " + std::to_string(ahead.count()) + " min ahead of this machine's clock";
  }
  return text;
}

// Passes on what was read once it survives power loss.
template <class Answer>
Result<Answer> RocksDbStore::durable(Result<Answer> answer) {
  if (Result<void> durable = writer_.await_durable(); !durable) {
    return std::unexpected(std::move(durable.error()));
  }
  return answer;
}

Result<std::vector<std::optional<Item>>> RocksDbStore::do_get(std::span<const Key> keys) {
  return durable(read_items(db_, keys, now()));
}

Result<ScanPage> RocksDbStore::do_scan(const ScanRequest& request) {
  return durable(read_scan(db_, request, now()));
}

Result<ListPage> RocksDbStore::do_list(const ListRequest& request) {
  return durable(read_list(db_, request, now()));
}

Result<CommitOutcome> RocksDbStore::do_commit(Transaction transaction) {
  return std::move(do_commit_each({&transaction, 1}).front());
}

std::vector<Result<CommitOutcome>> RocksDbStore::do_commit_each(
    std::span<const Transaction> transactions) {
  if (const Result<void> open = writer_.check_open(); !open) {
    return all(transactions.size(), open.error());
  }
  Group group(transactions);
  const Stripes::Held held(stripes_, group.keys());
  const Time now = engine_->time.now();
  group.read(db_, now);
  std::vector<Result<CommitOutcome>> answers = group.evaluate(now);
  rocksdb::WriteBatch batch;
  group.collect(batch);
  if (batch.Count() == 0) return answers;
  // Even an answer that writes nothing may depend on the writes of those before it.
  if (const Result<void> written = writer_.write(batch); !written) {
    return all(transactions.size(), written.error());
  }
  return answers;
}

Result<Swept> RocksDbStore::sweep(std::size_t limit) {
  if (Result<void> kept = keep_time(); !kept) return std::unexpected(std::move(kept.error()));
  return sweeper_.sweep(limit);
}

Result<void> RocksDbStore::keep_time() {
  rocksdb::WriteBatch batch;
  record_time(engine_->time.to_record(), batch);
  return writer_.write_unsynced(batch);
}

bool RocksDbStore::sweep_in_background() {
  const Result<Swept> swept = sweep(kSweptAtOnce);
  return swept && !swept->finished;
}

Result<void> checkpoint_rocksdb(Store& store, const std::filesystem::path& to) {
  auto* embedded = dynamic_cast<RocksDbStore*>(&store);
  if (embedded == nullptr) return failure(ErrorCode::unsupported, "only embedded stores can");
  return embedded->checkpoint(to);
}

Result<void> check_writable_rocksdb(Store& store) {
  auto* embedded = dynamic_cast<RocksDbStore*>(&store);
  if (embedded == nullptr) return failure(ErrorCode::unsupported, "only embedded stores can");
  return embedded->check_writable();
}

Result<void> verify_rocksdb(Store& store) {
  auto* embedded = dynamic_cast<RocksDbStore*>(&store);
  if (embedded == nullptr) return failure(ErrorCode::unsupported, "only embedded stores can");
  return embedded->verify();
}

Result<void> RocksDbStore::verify() {
  const rocksdb::Status status = db_.VerifyChecksum();
  if (!status.ok()) return std::unexpected(error_of(status, "a file is damaged"));
  return {};
}

Result<void> RocksDbStore::checkpoint(const std::filesystem::path& to) {
  // Once the log has failed, the database flushes nothing, and this would block.
  if (Result<void> open = writer_.check_open(); !open) return open;
  // The copy has the database's files only, not the log of commits.
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(&db_, &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (status.ok()) status = checkpoint->CreateCheckpoint(to.string());
  if (!status.ok()) return std::unexpected(error_of(status, "cannot make a checkpoint"));
  return writer_.await_durable();
}

}  // namespace once
