#include "server/abandoned_watch.h"

#include <algorithm>

#include "once/blocking_driver.h"

namespace once::server {
namespace {

constexpr Duration kLookTurn = std::chrono::seconds(1);
constexpr Duration kPauseOwned = std::chrono::seconds(5);
constexpr Duration kPauseShared = std::chrono::minutes(10);
constexpr int kPausePerWork = 50;  // A look takes at most one part in so many of the time.

// Lines that are remembered, so that none is written twice. Beyond that, none is written.
constexpr std::size_t kMostLines = 10'000;

std::string identity_of(const claims::AbandonedClaim& claim) {
  return claim.name_space + "/" + claim.name + "@" +
         std::to_string(claim.lease_until.time_since_epoch().count());
}

}  // namespace

AbandonedWatch::AbandonedWatch(Store& store, Journal& journal, metrics::Registry& registry,
                               Clock& clock)
    : store_(store),
      journal_(journal),
      clock_(clock),
      least_pause_(store.limits().calls_in_flight > 1 ? kPauseShared : kPauseOwned),
      due_(clock.now()),
      collecting_(registry, [this](metrics::Exposition& out) { write(out); }),
      looking_(clock, kLookTurn, [this] { return go_on(); }) {}

// True if there is more to look at now. After an error the next turn goes on.
bool AbandonedWatch::go_on() {
  if (clock_.now() < due_) return false;
  if (!under_way_) began_ = clock_.now();
  under_way_ = true;
  const auto page = BlockingDriver(store_, clock_).run(claims::list_abandoned(cursor_));
  if (!page) return false;
  for (const claims::AbandonedClaim& claim : page->claims) take(claim);
  cursor_ = page->cursor;
  if (!cursor_.empty()) return true;
  finish();
  return false;
}

void AbandonedWatch::take(const claims::AbandonedClaim& claim) {
  ++round_.count;
  round_.oldest = std::min(round_.oldest, claim.lease_until);
  if (met_.size() >= kMostLines) return;
  const auto [identity, fresh] = met_.insert(identity_of(claim));
  if (!fresh || known_.contains(*identity)) return;
  journal_.line(Level::warning, "claim_abandoned")
      .text("namespace", claim.name_space)
      .text("key", claim.name)
      .text("owner", claim.owner)
      .time("lease_until", claim.lease_until);
}

void AbandonedWatch::finish() {
  {
    const Lock lock(mutex_);
    found_ = round_;
  }
  round_ = {};
  known_ = std::move(met_);
  met_.clear();
  under_way_ = false;
  const Time now = clock_.now();
  due_ = later(now, std::max(least_pause_, (now - began_) * kPausePerWork));
}

void AbandonedWatch::write(metrics::Exposition& out) const {
  using Type = metrics::Exposition::Type;
  Found found;
  {
    const Lock lock(mutex_);
    found = found_;
  }
  out.family(
      "once_claims_abandoned",
      "Claims whose lease is over and that nobody took over, when they were last looked for.",
      Type::gauge);
  out.sample({}, static_cast<double>(found.count));
  out.family("once_claims_oldest_lease_seconds",
             "How long ago the lease of the longest abandoned claim ended; 0 if there is none.",
             Type::gauge);
  const Duration age = found.count > 0 ? store_.now() - found.oldest : Duration::zero();
  out.sample({}, std::chrono::duration<double>(std::max(age, Duration::zero())).count());
}

}  // namespace once::server
