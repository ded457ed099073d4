#include "library/running.h"

#include <algorithm>
#include <utility>

namespace once {
namespace {

constexpr int kRenewalsPerLease = 3;
constexpr Duration kFirstPause{50};
constexpr Duration kLongestPause{2'000};
constexpr std::size_t kMaxFailure = 4'096;  // Bytes of a failure's text that are kept.

bool may_pass(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::unknown;
}

bool only_completes(const Effects& effects) {
  return effects.appends().empty() && effects.documents().empty() && effects.tallies().empty();
}

effects::Outcome as_effects(const SettleOutcome& settled) {
  using effects::Refused;
  if (std::holds_alternative<Fenced>(settled)) return Refused{Refused::Part::claim, 0, Fenced{}};
  if (std::holds_alternative<Mismatch>(settled)) {
    return Refused{Refused::Part::claim, 0, Mismatch{}};
  }
  return effects::Made{};
}

NotRun fenced() {
  return {NotRun::Why::fenced,
          {ErrorCode::invalid, "the lease was lost and another attempt took over"},
          {},
          {}};
}

}  // namespace

Running::Running(Backend& backend, Attempt& attempt, Claimed claimed, Time asked,
                 const RunOptions& options)
    : backend_(backend),
      attempt_(attempt),
      claimed_(std::move(claimed)),
      options_(options),
      lease_until_(backend.end_of_lease(asked, options.lease, claimed_.lease_until)) {}

RunResult Running::run(const Once::Work& work) {
  const Duration every = std::max(Duration(1), options_.lease / kRenewalsPerLease);
  const Periodic keeper(backend_.clock(), every, [this] {
    renew();
    if (options_.on_renewal) options_.on_renewal(attempt_);
    return false;
  });
  const Result<Effects> effects = perform(work);
  if (!effects) return end(effects.error());
  return record(*effects);
}

Result<Effects> Running::perform(const Once::Work& work) {
  try {
    return work(attempt_);
  } catch (...) {
    release("the work threw an exception", Release::retryable);
    throw;
  }
}

// A store that is down for a moment costs one renewal, not the lease.
void Running::renew() {
  if (attempt_.lost()) return;
  const Time asked = backend_.now();
  const Duration left = lease_until_.load() - asked;
  const auto renewed =
      backend_.renew(attempt_.key(), claimed_.ticket, options_.lease, std::max(left, Duration(1)));
  if (!renewed) {
    attempt_.lost_ = !may_pass(renewed.error()) || backend_.now() >= lease_until_.load();
  } else if (const auto* still = std::get_if<Renewed>(&*renewed)) {
    lease_until_ = backend_.end_of_lease(asked, options_.lease, still->lease_until);
  } else {
    attempt_.lost_ = true;
  }
}

// If this does not reach the store, the lease's end frees the key.
void Running::release(const std::string& failure, Release how) {
  (void)backend_.claims().release(attempt_.key(), claimed_.ticket, failure.substr(0, kMaxFailure),
                                  how);
}

RunResult Running::end(const Error& error) {
  const bool for_good = attempt_.gave_up_;
  release(error.message, for_good ? Release::final : Release::retryable);
  return std::unexpected(
      NotRun{for_good ? NotRun::Why::failed : NotRun::Why::retry, error, {}, {}});
}

// The work is done: unless its outcome is recorded it will be done again, so a store that is down
// is waited for. The ticket keeps a commit that is sent again from happening twice.
RunResult Running::record(const Effects& effects) {
  Clock& clock = backend_.clock();
  const Time until = later(clock.now(), options_.patience);
  for (Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const Recorded recorded = record_once(effects);
    if (recorded) return end_recorded(*recorded, effects);
    if (!may_pass(recorded.error())) {
      release("the outcome could not be stored: " + recorded.error().message, Release::final);
      return std::unexpected(NotRun{NotRun::Why::failed, recorded.error(), {}, {}});
    }
    if (clock.now() >= until) {
      return std::unexpected(NotRun{NotRun::Why::store, recorded.error(), {}, {}});
    }
    clock.sleep(pause);
  }
}

Running::Recorded Running::record_once(const Effects& effects) {
  if (only_completes(effects)) {
    const auto settled = backend_.claims().complete(attempt_.key(), claimed_.ticket,
                                                    effects.result().value_or(Bytes()));
    if (!settled) return std::unexpected(settled.error());
    return as_effects(*settled);
  }
  return backend_.commit("", effects::ClaimPart{attempt_.key(), claimed_.ticket}, effects);
}

RunResult Running::end_recorded(const effects::Outcome& outcome, const Effects& effects) {
  if (const auto* made = std::get_if<effects::Made>(&outcome)) {
    return Ran{effects.result().value_or(Bytes()), false, backend_.now(), *made};
  }
  const auto& refused = std::get<effects::Refused>(outcome);
  if (refused.part == effects::Refused::Part::claim) return std::unexpected(fenced());
  const Error error{ErrorCode::invalid, "a condition of the effects did not hold"};
  release(error.message, Release::retryable);
  std::unexpected<NotRun> not_run(NotRun{NotRun::Why::refused, error, {}, {}});
  not_run.error().refused.emplace(refused);
  return not_run;
}

}  // namespace once
