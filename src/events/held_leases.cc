#include "events/held_leases.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace once::events {
namespace {

constexpr int kRenewalsPerLease = 3;
constexpr int kLooksPerLease = 6;

}  // namespace

HeldLeases::HeldLeases(BatchingDriver& driver, Clock& clock, Duration shortest)
    : driver_(driver), clock_(clock) {
  renewing_.emplace(clock, std::max(Duration(1), shortest / kLooksPerLease),
                    [this] { return renew_due(); });
}

std::uint64_t HeldLeases::hold(Key key, Ticket ticket, Duration lease) {
  const Time due = later(clock_.now(), lease / kRenewalsPerLease);
  const Lock lock(mutex_);
  held_[++last_id_] = {std::move(key), std::move(ticket), lease, due};
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
      if (held.due > now) continue;
      held.due = later(now, held.lease / kRenewalsPerLease);
      due.emplace_back(id, held);
    }
  }
  for (const auto& [id, held] : due) renew(id, held);
  return false;
}

// One that fails costs a third of the lease; one that is fenced has nothing left to renew. What
// became of the claim is seen when the event is concluded.
void HeldLeases::renew(std::uint64_t id, const Held& held) {
  (void)driver_.start<RenewOutcome>(
      claims::renew(held.key, held.ticket, held.lease),
      [this, id](const Result<RenewOutcome>& outcome) {
        if (outcome && std::holds_alternative<Fenced>(*outcome)) {
          let_go(id);
        }
      },
      held.lease);
}

}  // namespace once::events
