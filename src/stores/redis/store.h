// The store itself, one attempt a call; open_redis() puts retries before it.
#pragma once

#include <memory>
#include <string>

#include "once/redis_store.h"
#include "stores/redis/commits.h"
#include "stores/redis/router.h"
#include "stores/redis/server_time.h"
#include "stores/redis/sweeper.h"

namespace once::redis {

class ServerStore final : public RedisStore {
 public:
  // `router` uses `time`; `description` is from startup.h. No call takes longer than `patience`.
  ServerStore(std::unique_ptr<ServerTime> time, std::unique_ptr<Router> router,
              std::string description, Duration patience);

  const Limits& limits() const override { return limits_; }
  std::string describe() const override { return description_; }
  std::uint64_t place(const Key& key) const override;
  Time now() override { return time_->now(); }
  Result<Swept> sweep(std::size_t limit) override { return sweeper_.sweep(context(), limit); }
  RedisCounts counts() const override { return router_->counts(); }
  StoreUnits units() const override { return router_->units(); }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override;
  Result<ScanPage> do_scan(const ScanRequest& request) override;
  Result<ListPage> do_list(const ListRequest& request) override;
  Result<CommitOutcome> do_commit(Transaction transaction) override;
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override;

 private:
  struct Group {
    std::span<const Transaction> transactions;
    std::span<const Form> forms;
    std::span<std::optional<Result<CommitOutcome>>> answers;
  };

  // Answers those of `which`; leaves open what must be sent as a script.
  void send(const Group& group, std::span<const std::size_t> which, Deadline until);
  // Whether all were answered.
  bool send_piece(const Group& group, std::span<const std::size_t> which,
                  std::span<const Command> commands, Deadline until);

  Deadline deadline() const { return std::chrono::steady_clock::now() + patience_; }
  ReadContext context() { return {*router_, *time_, deadline()}; }

  const std::unique_ptr<ServerTime> time_;
  const std::unique_ptr<Router> router_;
  const std::string description_;
  const Limits limits_;
  const Duration patience_;
  Sweeper sweeper_;
};

}  // namespace once::redis
