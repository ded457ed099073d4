#include "once/once.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "library/run.h"
#include "local/local.h"

namespace once {
namespace {

using Why = NotRun::Why;

// Between two looks at a claim that another holds.
constexpr PauseBounds kPausesWhileBusy{
    .shortest = Duration(25), .first = Duration(50), .longest = Duration(1'000)};

std::unexpected<NotRun> not_run(Why why, ErrorCode code, std::string message) {
  return std::unexpected(NotRun{.why = why, .error = {code, std::move(message)}});
}

// What another attempt makes of this one.
struct OtherAttempt {
  RunResult operator()(const Busy& busy) const {
    return std::unexpected(NotRun{.why = Why::busy,
                                  .error = {ErrorCode::unavailable, "another attempt is under way"},
                                  .until = busy.lease_until,
                                  .owner = busy.owner});
  }
  RunResult operator()(const Done& done) const {
    if (done.failed) return not_run(Why::failed, ErrorCode::invalid, done.result);
    return Ran{done.result, true, done.completed, {}};
  }
  RunResult operator()(const Mismatch&) const {
    return not_run(Why::mismatch, ErrorCode::invalid, "the key was run with another payload");
  }
  // Never: claims here refuse when the store is down.
  RunResult operator()(const Unguarded&) const {
    return not_run(Why::store_error, ErrorCode::unavailable, "the store is down");
  }
  RunResult operator()(const Claimed&) const { std::unreachable(); }
};

struct Taken {
  Result<ClaimOutcome> outcome;
  Time asked;  // A lease does not begin earlier.
};

// Waits for another's attempt: at the store, or here if the caller has a pause of its own.
Taken take_claim(Backend& backend, std::string_view key, const RunOptions& options) {
  const ClaimRequest request{.owner = options.owner,
                             .payload = options.payload,
                             .lease = options.lease,
                             .ttl = options.ttl};
  const Duration wait_there = options.pause ? Duration::zero() : options.wait;
  Clock& clock = backend.clock();
  const Deadline waited(clock, options.wait);
  Backoff backoff(kPausesWhileBusy, clock, system_entropy());
  for (;;) {
    const Time asked = clock.now();
    Taken taken{backend.claims().take(key, request, wait_there), asked};
    const bool is_busy = taken.outcome && std::holds_alternative<Busy>(*taken.outcome);
    if (!is_busy || !options.pause || waited.over()) return taken;
    if (!options.pause(std::min(backoff.next(), waited.left()))) return taken;
  }
}

}  // namespace

Once::Once(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
Once::Once(std::unique_ptr<Store> store, std::string name_space, Clock& clock, Entropy& entropy)
    : Once(std::make_unique<Local>(std::move(store), std::move(name_space), clock, entropy)) {}
Once::Once(Once&&) noexcept = default;
Once::~Once() = default;

RunResult Once::run(std::string_view key, const RunOptions& options, const Work& work) {
  const auto [taken, asked] = take_claim(*backend_, key, options);
  if (!taken) return not_run(Why::store_error, taken.error().code, taken.error().message);
  const auto* claimed = std::get_if<Claimed>(&*taken);
  if (claimed == nullptr) return std::visit(OtherAttempt{}, *taken);
  Attempt attempt(std::string(key), claimed->fence, claimed->attempt);
  Run run(*backend_, attempt, claimed->ticket, LeaseCountdown(asked, options.lease), options);
  return run.run(work);
}

Result<effects::Outcome> Once::commit(Effects effects, std::string id, Duration within) {
  return backend_->commit(std::move(id), std::nullopt, std::move(effects), within);
}

Result<effects::PrepareOutcome> Once::prepare(Effects effects, std::string id, Duration within) {
  return backend_->prepare(std::move(id), std::nullopt, std::move(effects), within);
}

Claims& Once::claims() { return backend_->claims(); }
Log& Once::log() { return backend_->log(); }
Documents& Once::documents() { return backend_->documents(); }
Tallies& Once::tallies() { return backend_->tallies(); }
Time Once::now() { return backend_->now(); }
Store* Once::store() { return backend_->store(); }

}  // namespace once
