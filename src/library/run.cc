#include "library/run.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"

namespace once {
namespace {

using Why = NotRun::Why;

constexpr PauseBounds kRecordingPauses{
    .shortest = Duration(10), .first = Duration(50), .longest = Duration(2'000)};
constexpr std::size_t kMaxFailure = 4'096;  // Bytes of a failure's text that are kept.

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

// Nothing else makes done work fail for good (docs/hazards.md#h39): what is not now may be later.
bool can_never_be_stored(ErrorCode code) {
  return code == ErrorCode::too_large || code == ErrorCode::unsupported ||
         code == ErrorCode::corrupt;
}

std::unexpected<NotRun> not_run(Why why, Error error) {
  return std::unexpected(NotRun{.why = why, .error = std::move(error)});
}

}  // namespace

Result<effects::PrepareOutcome> Attempt::prepare(const Effects& effects) {
  if (!prepare_) return failure(ErrorCode::invalid, "only an attempt that runs prepares effects");
  prepared_ = effects;
  return prepare_(effects);
}

Run::Run(Backend& backend, Attempt& attempt, Ticket ticket, LeaseCountdown lease,
         const RunOptions& options)
    : backend_(backend),
      attempt_(attempt),
      ticket_(std::move(ticket)),
      options_(options),
      lease_(lease) {}

// The lease is kept until the outcome is recorded.
RunResult Run::run(const Once::Work& work) {
  if (std::optional<NotRun> late = freshen_lease()) return std::unexpected(std::move(*late));
  attempt_.lease_until_ = lease_.until();
  const auto renew = [this](Duration within) {
    return backend_.claims().renew(attempt_.key(), ticket_, options_.lease, within);
  };
  const auto tell = [this] {
    if (options_.on_renewal) options_.on_renewal(attempt_);
  };
  const auto kept = [this, tell](Time until) {
    attempt_.lease_until_ = until;
    tell();
  };
  const auto lost = [this, tell] {
    attempt_.lost_ = true;
    tell();
  };
  LeaseKeeper keeper(backend_.clock(), lease_, renew, {.kept = kept, .lost = lost});
  attempt_.prepare_ = [this, &keeper](const Effects& effects) {
    keeper.stop();
    return prepare(effects);
  };
  Result<Effects> effects = perform(work);
  if (!effects) return end_failed(effects.error());
  return attempt_.prepared_ ? record_applied() : record(std::move(*effects));
}

// A claim whose answer took long, because another attempt was waited for or an answer was lost, may
// be near its end, or over: it is renewed before the work begins. Nothing begins after the lease's
// end (docs/hazards.md#h38). A renewal whose answer was lost may hold the key: it is freed.
std::optional<NotRun> Run::freshen_lease() {
  Clock& clock = backend_.clock();
  const Time asked = clock.now();
  if (asked < lease_.due()) return std::nullopt;
  const Duration within = std::min(options_.lease, kLongestRenewal);
  const auto renewed = backend_.claims().renew(attempt_.key(), ticket_, options_.lease, within);
  if (renewed && std::holds_alternative<Renewed>(*renewed)) lease_.renewed(asked);
  const bool is_ours = renewed ? std::holds_alternative<Renewed>(*renewed) : is_transient(renewed);
  if (is_ours && !lease_.is_over(clock.now())) return std::nullopt;
  if (!renewed && !is_transient(renewed)) return NotRun{.error = renewed.error()};
  if (is_ours) {
    (void)backend_.claims().release(attempt_.key(), ticket_, "its lease ended before it began",
                                    Release::retryable, within);
  }
  return NotRun{.why = Why::fenced,
                .error = {ErrorCode::unavailable, "the lease ended before the work could begin"}};
}

Result<Effects> Run::perform(const Once::Work& work) {
  try {
    return work(attempt_);
  } catch (...) {
    (void)backend_.claims().release(attempt_.key(), ticket_, "the work threw an exception",
                                    Release::retryable);
    throw;
  }
}

// While the store is down it is tried again, as recording is: until then the key is not free. At
// the end of the lease it is free by itself, but a failure for good is an outcome, and is still
// tried.
Result<void> Run::release(std::string failure, Release how) {
  failure.resize(std::min(failure.size(), kMaxFailure));
  Clock& clock = backend_.clock();
  Backoff backoff(kRecordingPauses, clock, system_entropy(), later(clock.now(), options_.patience));
  for (;;) {
    const Duration left = attempt_.lease_until() - clock.now();
    const Duration within = how == Release::final ? kAttemptLife : std::min(left, kAttemptLife);
    const auto released = backend_.claims().release(attempt_.key(), ticket_, failure, how, within);
    if (released) return {};
    const bool is_over = within <= Duration::zero();
    if (is_over || !is_transient(released) || !backoff.pause()) {
      return std::unexpected(released.error());
    }
  }
}

// A lost claim has nothing to release.
RunResult Run::end_failed(const Error& error) {
  const bool for_good = attempt_.gave_up_;
  NotRun ended{.why = for_good ? Why::failed : Why::retry, .error = error};
  if (!attempt_.lost()) {
    const auto released = release(error.message, for_good ? Release::final : Release::retryable);
    if (!released) ended.unrecorded = released.error();
  }
  return std::unexpected(std::move(ended));
}

// The work is done: unless its outcome is recorded it will be done again, so a store that is down
// or refuses this caller is waited for. The ticket keeps a commit that is sent again from happening
// twice.
RunResult Run::record(Effects effects) {
  Clock& clock = backend_.clock();
  Backoff backoff(kRecordingPauses, clock, system_entropy(), later(clock.now(), options_.patience));
  for (;;) {
    const Result<effects::Outcome> recorded = record_once(effects);
    if (recorded) return end_recorded(*recorded, effects);
    const Error& error = recorded.error();
    if (error.code == ErrorCode::too_large && options_.smaller) {
      if (std::optional<Effects> smaller = options_.smaller()) {
        effects = std::move(*smaller);
        continue;
      }
    }
    if (can_never_be_stored(error.code)) {
      (void)release("the outcome could not be stored: " + error.message, Release::final);
      return not_run(Why::failed, error);
    }
    if (error.code == ErrorCode::invalid) return end_failed(error);  // Another attempt's may be.
    if (!backoff.pause()) return not_run(Why::store_error, error);
  }
}

// Nothing else renews the lease by now. A renewal that fails does not matter: if another has the
// claim, the store says so.
Result<effects::PrepareOutcome> Run::prepare(const Effects& effects) {
  const Time asked = backend_.clock().now();
  const Duration left = attempt_.lease_until() - asked;
  if (left < options_.lease - LeaseCountdown::interval(options_.lease)) {
    const auto renewed = backend_.claims().renew(attempt_.key(), ticket_, options_.lease);
    if (renewed && std::holds_alternative<Renewed>(*renewed)) {
      attempt_.lease_until_ = later(asked, options_.lease);
    }
  }
  return backend_.prepare("", effects::ClaimPart{attempt_.key(), ticket_}, effects);
}

// The work's own transaction has recorded the outcome, or nothing has. To commit it here would
// leave out what else was in that transaction.
RunResult Run::record_applied() {
  const Effects& effects = *attempt_.prepared_;
  Clock& clock = backend_.clock();
  Backoff backoff(kRecordingPauses, clock, system_entropy(), later(clock.now(), options_.patience));
  for (;;) {
    const Result<effects::PrepareOutcome> found = prepare(effects);
    if (found) {
      if (const auto* made = std::get_if<effects::Made>(&*found))
        return end_recorded(*made, effects);
      if (const auto* no = std::get_if<effects::Refused>(&*found))
        return end_recorded(*no, effects);
      return end_failed({ErrorCode::invalid, "what was prepared was not applied"});
    }
    if (!is_transient(found)) return end_failed(found.error());
    if (!backoff.pause()) return not_run(Why::store_error, found.error());
  }
}

Result<effects::Outcome> Run::record_once(const Effects& effects) {
  if (only_completes(effects)) {
    const auto settled =
        backend_.claims().complete(attempt_.key(), ticket_, effects.result().value_or(Bytes()));
    if (!settled) return std::unexpected(settled.error());
    return as_effects(*settled);
  }
  return backend_.commit("", effects::ClaimPart{attempt_.key(), ticket_}, effects);
}

RunResult Run::end_recorded(const effects::Outcome& outcome, const Effects& effects) {
  if (const auto* made = std::get_if<effects::Made>(&outcome)) {
    return Ran{effects.result().value_or(Bytes()), false, backend_.now(), *made};
  }
  const auto& refused = std::get<effects::Refused>(outcome);
  if (refused.part == effects::Refused::Part::claim) {
    return not_run(Why::fenced,
                   {ErrorCode::invalid, "the lease was lost and another attempt took over"});
  }
  const Error error{ErrorCode::invalid, "a condition of the effects did not hold"};
  (void)release(error.message, Release::retryable);
  std::unexpected<NotRun> ended = not_run(Why::refused, error);
  ended.error().refused.emplace(refused);
  return ended;
}

}  // namespace once
