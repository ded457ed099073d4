// The store itself, one attempt a call; open_postgres() puts retries before it.
#pragma once

#include <memory>
#include <string>

#include "once/postgres_store.h"
#include "stores/postgres/committer.h"
#include "stores/postgres/pool.h"
#include "stores/postgres/reader.h"
#include "stores/postgres/server_time.h"
#include "stores/postgres/slow_keys.h"
#include "stores/postgres/startup.h"

namespace once::postgres {

class ServerStore final : public PostgresStore {
 public:
  // `about` is from startup.h. No call takes longer than `patience`.
  ServerStore(std::unique_ptr<ServerTime> time, std::unique_ptr<Pool> pool, const About& about,
              Duration patience);

  const Limits& limits() const override { return limits_; }
  std::string describe() const override { return description_; }
  std::uint64_t place(const Key& key) const override;
  Time now() override { return time_->now(); }
  Result<Swept> sweep(std::size_t limit) override;
  PostgresCounts counts() const override { return pool_->counts(); }
  StoreUnits units() const override { return pool_->units(); }
  Result<void> check_writable() const override { return pool_->check_room(); }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override;
  Result<ScanPage> do_scan(const ScanRequest& request) override;
  Result<ListPage> do_list(const ListRequest& request) override;
  Result<CommitOutcome> do_commit(Transaction transaction) override;
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override;

 private:
  CallContext context() { return {*pool_, *time_, std::chrono::steady_clock::now() + patience_}; }

  const std::unique_ptr<ServerTime> time_;
  const std::unique_ptr<Pool> pool_;
  const std::string description_;
  const std::shared_ptr<const Sealer> sealer_;
  const Limits limits_;
  const Duration patience_;
  SlowKeys slow_;
};

}  // namespace once::postgres
