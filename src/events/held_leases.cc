#include "events/held_leases.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace once::events {
namespace {

constexpr int kLooksPerRenewal = 2;

}  // namespace

HeldLeases::HeldLeases(BatchingDriver& driver, Clock& clock, Duration shortest)
    : driver_(driver), clock_(clock) {
  expect(shortest);
}

void HeldLeases::expect(Duration shortest) {
  renewing_.reset();
  renewing_.emplace(clock_,
                    std::max(Duration(1), LeaseCountdown::interval(shortest) / kLooksPerRenewal),
                    [this] { return renew_due(); });
}

std::uint64_t HeldLeases::hold(Key key, Ticket ticket, Duration length, Time asked) {
  const Lock lock(mutex_);
  held_.insert({++last_id_, {std::move(key), std::move(ticket), length, {asked, length}}});
  return last_id_;
}

void HeldLeases::let_go(std::uint64_t id) {
  const Lock lock(mutex_);
  held_.erase(id);
}

void HeldLeases::stop() { renewing_.reset(); }

bool HeldLeases::renew_due() {
  const Time now = clock_.now();
  std::vector<std::pair<std::uint64_t, Held>> due;
  {
    const Lock lock(mutex_);
    for (auto& [id, held] : held_) {
      if (held.lease.due() > now) continue;
      due.emplace_back(id, held);
      held.lease.failed(now, LeaseCountdown::interval(held.length));  // Unless it succeeds.
    }
  }
  for (const auto& [id, held] : due) renew(id, held);
  return false;
}

// A failed renewal is repeated after a third of the lease. A lease that is over is still renewed:
// if no other delivery took the claim, that keeps it. The commit at the end finds out whether the
// claim was lost.
void HeldLeases::renew(std::uint64_t id, const Held& held) {
  const Time asked = clock_.now();
  const Duration within = std::max(held.lease.left(asked), LeaseCountdown::interval(held.length));
  (void)driver_.start<RenewOutcome>(claims::renew(held.key, held.ticket, held.length),
                                    [this, id, asked](const Result<RenewOutcome>& outcome) {
                                      if (outcome) renewed(id, asked, *outcome);
                                    },
                                    {.patience = within});
}

void HeldLeases::renewed(std::uint64_t id, Time asked, const RenewOutcome& outcome) {
  const Lock lock(mutex_);
  const auto held = held_.find(id);
  if (held == held_.end()) return;
  if (std::holds_alternative<Renewed>(outcome)) {
    held->second.lease.renewed(asked);
  } else {
    held_.erase(held);
  }
}

}  // namespace once::events
