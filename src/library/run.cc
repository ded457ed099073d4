#include "library/run.h"

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

Run::Run(Backend& backend, Attempt& attempt, Ticket ticket, LeaseCountdown lease,
         const RunOptions& options)
    : backend_(backend),
      attempt_(attempt),
      ticket_(std::move(ticket)),
      options_(options),
      lease_(lease) {}

// The lease is kept until the outcome is recorded.
RunResult Run::run(const Once::Work& work) {
  if (const Result<void> fresh = freshen_lease(); !fresh) {
    return not_run(Why::store_error, fresh.error());
  }
  const auto renew = [this](Duration within) {
    return backend_.claims().renew(attempt_.key(), ticket_, options_.lease, within);
  };
  const auto kept = [this] {
    if (options_.on_renewal) options_.on_renewal(attempt_);
  };
  const auto lost = [this, kept] {
    attempt_.lost_ = true;
    kept();
  };
  const LeaseKeeper keeper(backend_.clock(), lease_, renew, {.kept = kept, .lost = lost});
  Result<Effects> effects = perform(work);
  return effects ? record(std::move(*effects)) : end_failed(effects.error());
}

// A claim whose answer took long, because another attempt was waited for or an answer was lost, may
// be near its end, or over: it is renewed before the work begins.
Result<void> Run::freshen_lease() {
  Clock& clock = backend_.clock();
  const Time asked = clock.now();
  if (asked < lease_.due()) return {};
  const auto renewed = backend_.claims().renew(attempt_.key(), ticket_, options_.lease);
  if (renewed && std::holds_alternative<Renewed>(*renewed)) lease_.renewed(asked);
  const bool is_ours =
      renewed ? std::holds_alternative<Renewed>(*renewed) : is_transient(renewed.error());
  if (is_ours && !lease_.is_over(clock.now())) return {};
  (void)backend_.claims().release(attempt_.key(), ticket_, "its lease ended before it began",
                                  Release::retryable);
  if (!renewed) return std::unexpected(renewed.error());
  return failure(ErrorCode::unavailable, "the lease ended before the work could begin");
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

// While the store is down it is tried again, as recording is: until then the key is not free. What
// never reaches the store is free when the lease ends.
Result<void> Run::release(std::string failure, Release how) {
  failure.resize(std::min(failure.size(), kMaxFailure));
  Clock& clock = backend_.clock();
  Backoff backoff(kRecordingPauses, clock, system_entropy(), later(clock.now(), options_.patience));
  for (;;) {
    const auto released = backend_.claims().release(attempt_.key(), ticket_, failure, how);
    if (released) return {};
    if (!is_transient(released.error()) || !backoff.pause()) {
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
