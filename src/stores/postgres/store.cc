#include "stores/postgres/store.h"

#include <algorithm>
#include <utility>

#include "stores/postgres/stored_form.h"

namespace once::postgres {
namespace {

// Groups that are under way side by side, each on a connection: while one waits for the server's
// disk, the next is evaluated.
constexpr std::uint64_t kLanes = 4;

// For each lane a commit, a get and a scan, and some for keys that others hold.
constexpr std::size_t kCallsInFlight = 16;

// A row of an index has up to a third of a page.
constexpr std::size_t kNameBytes = 2'048;

Limits limits_of(const About& about, std::size_t connections) {
  return {.writes_per_commit = 10'000,
          .commits_per_group = 10'000,
          .keys_per_get = 10'000,
          .calls_in_flight = std::min(kCallsInFlight, connections),
          .value_bytes = 16U << 20,
          .partition_bytes = kNameBytes,
          .clock_error = std::chrono::seconds(2),
          .may_forget = about.may_forget,
          .sealer = about.sealer.get()};
}

}  // namespace

ServerStore::ServerStore(std::unique_ptr<ServerTime> time, std::unique_ptr<Pool> pool,
                         const About& about, Duration patience)
    : time_(std::move(time)),
      pool_(std::move(pool)),
      description_(about.description),
      sealer_(about.sealer),
      limits_(limits_of(about, pool_->options().connections)),
      patience_(patience) {}

std::uint64_t ServerStore::place(const Key& key) const {
  const std::uint64_t hash = hash_of(key);
  if (slow_.contains(hash, std::chrono::steady_clock::now())) return kLanes + hash % (1ULL << 60U);
  return std::hash<std::string_view>()(key.partition.home) % kLanes;
}

Result<Swept> ServerStore::sweep(std::size_t limit) {
  Statement statement(call_of(pool_->options().schema, "sweep_items", 2));
  statement.number(stored(time_->now())).number(static_cast<std::int64_t>(limit));
  const Result<Rows> rows = ask(context(), statement, StoreOperation::other);
  if (!rows) return std::unexpected(rows.error());
  const std::size_t removed =
      rows->size() > 1 ? static_cast<std::size_t>(rows->number(1, 2).value_or(0)) : 0;
  return Swept{.examined = removed, .removed = removed, .finished = removed < limit};
}

Result<std::vector<std::optional<Item>>> ServerStore::do_get(std::span<const Key> keys) {
  return read_items(context(), keys);
}

Result<ScanPage> ServerStore::do_scan(const ScanRequest& request) {
  return read_scan(context(), request);
}

Result<ListPage> ServerStore::do_list(const ListRequest& request) {
  return read_list(context(), request);
}

Result<CommitOutcome> ServerStore::do_commit(Transaction transaction) {
  return std::move(do_commit_each({&transaction, 1}).front());
}

std::vector<Result<CommitOutcome>> ServerStore::do_commit_each(
    std::span<const Transaction> transactions) {
  Committer committer(context(), slow_);
  return committer.commit_each(transactions);
}

}  // namespace once::postgres
