#include "stores/postgres/pool.h"

#include <utility>

#include "stores/postgres/errors.h"

namespace once::postgres {
namespace {

constexpr Duration kLongestIdle = std::chrono::minutes(2);

// Then somebody may try again: nothing else tells when there is room.
constexpr auto kFullFor = std::chrono::seconds(10);

Failure failure_of(Error error) {
  return {.sent = Failure::Sent::partly,
          .code = error.code,
          .state = {},
          .message = std::move(error.message)};
}

}  // namespace

Pool::Pool(PostgresOptions options)
    : options_(std::move(options)),
      connections_(
          {.engine = "postgres", .most = options_.connections, .longest_idle = kLongestIdle},
          boot_clock()) {}

Result<Lease> Pool::lease(Deadline deadline) {
  return connections_.lease(deadline, [&] { return open(deadline); });
}

std::optional<Lease> Pool::lease_if_free(Deadline deadline) {
  Result<Lease> lease =
      connections_.lease(std::chrono::steady_clock::now(), [&] { return open(deadline); });
  if (!lease) return std::nullopt;
  return std::move(*lease);
}

Result<std::unique_ptr<Connection>> Pool::open(Deadline deadline) const {
  return Connection::open(options_.connection, deadline);
}

std::expected<Rows, Failure> Pool::run(const Statement& statement, StoreOperation operation,
                                       Deadline deadline) {
  Result<Lease> lease = this->lease(deadline);
  if (!lease) return std::unexpected(failure_of(std::move(lease.error())));
  count(operation);
  std::expected<Rows, Failure> rows = (*lease)->exchange(statement, deadline);
  if (!rows && is_read_only(rows.error())) retire();
  return rows;
}

void Pool::note_commit() {
  if (!is_full_) return;
  const Lock lock(mutex_);
  full_.reset();
  is_full_ = false;
}

void Pool::note_full(const Error& error) {
  const Lock lock(mutex_);
  full_ = Full{error, std::chrono::steady_clock::now()};
  is_full_ = true;
}

Result<void> Pool::check_room() const {
  const Lock lock(mutex_);
  if (!full_ || std::chrono::steady_clock::now() - full_->since > kFullFor) return {};
  return std::unexpected(full_->error);
}

PostgresCounts Pool::counts() const {
  return {.requests = static_cast<std::uint64_t>(units_.sum(kRequest)),
          .rows_written = static_cast<std::uint64_t>(units_.sum(kRow))};
}

}  // namespace once::postgres
