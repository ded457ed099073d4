#include "stores/postgres/pool.h"

#include <utility>

#include "stores/postgres/errors.h"

namespace once::postgres {
namespace {

constexpr auto kMostIdle = std::chrono::minutes(2);

// Then somebody may try again: nothing else tells when there is room.
constexpr auto kFullFor = std::chrono::seconds(10);

Failure failure_of(Error error) {
  return {.sent = Failure::Sent::partly,
          .code = error.code,
          .state = {},
          .message = std::move(error.message)};
}

}  // namespace

Lease::Lease(Pool& pool, std::unique_ptr<Connection> connection, std::uint64_t age)
    : pool_(&pool), connection_(std::move(connection)), age_(age) {}

Lease::~Lease() {
  if (connection_) pool_->give_back(std::move(connection_), age_);
}

Result<Lease> Pool::lease(Deadline deadline) {
  std::uint64_t age = 0;
  {
    Lock lock(mutex_);
    while (leased_ >= options_.connections) {
      if (returned_.wait_until(lock.native(), deadline) == std::cv_status::timeout &&
          leased_ >= options_.connections) {
        return failure(ErrorCode::unavailable, "postgres: all connections are in use");
      }
    }
    ++leased_;
    age = age_;
  }
  return lease_in_turn(age, deadline);
}

std::optional<Lease> Pool::lease_if_free(Deadline deadline) {
  std::uint64_t age = 0;
  {
    const Lock lock(mutex_);
    if (leased_ >= options_.connections) return std::nullopt;
    ++leased_;
    age = age_;
  }
  Result<Lease> lease = lease_in_turn(age, deadline);
  if (!lease) return std::nullopt;
  return std::move(*lease);
}

Result<Lease> Pool::lease_in_turn(std::uint64_t age, Deadline deadline) {
  if (std::unique_ptr<Connection> idle = idle_one()) return Lease(*this, std::move(idle), age);
  Result<std::unique_ptr<Connection>> opened = Connection::open(options_.connection, deadline);
  if (opened) return Lease(*this, std::move(*opened), age);
  give_back(nullptr, age);
  return std::unexpected(std::move(opened.error()));
}

void Pool::retire() {
  std::vector<Idle> retired;  // Closed after the lock is gone.
  const Lock lock(mutex_);
  ++age_;
  retired.swap(idle_);
}

// One that the server has closed meanwhile would make the next outcome unknown.
std::unique_ptr<Connection> Pool::idle_one() {
  const Deadline now = std::chrono::steady_clock::now();
  const Lock lock(mutex_);
  std::erase_if(idle_, [&](const Idle& idle) { return now - idle.since > kMostIdle; });
  while (!idle_.empty()) {
    std::unique_ptr<Connection> last = std::move(idle_.back().connection);
    idle_.pop_back();
    if (!last->lost()) return last;
  }
  return nullptr;
}

void Pool::give_back(std::unique_ptr<Connection> connection, std::uint64_t age) {
  const Deadline now = std::chrono::steady_clock::now();
  {
    const Lock lock(mutex_);
    --leased_;
    if (connection && connection->sound() && age == age_) {
      idle_.push_back({std::move(connection), now});
    }
  }
  returned_.notify_one();
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
