#include "once/once.h"

#include <utility>

#include "library/local.h"
#include "library/running.h"

namespace once {
namespace {

using Why = NotRun::Why;

std::unexpected<NotRun> not_run(Why why, ErrorCode code, std::string message, Time until = {}) {
  return std::unexpected(NotRun{why, {code, std::move(message)}, until, {}});
}

RunResult replayed(const Done& done) {
  if (done.failed) return not_run(Why::failed, ErrorCode::invalid, done.result);
  return Ran{done.result, true, done.completed, {}};
}

// What became of somebody else's attempt.
struct Elsewhere {
  RunResult operator()(const Busy& busy) const {
    return not_run(Why::busy, ErrorCode::unavailable, "another attempt is under way",
                   busy.lease_until);
  }
  RunResult operator()(const Done& done) const { return replayed(done); }
  RunResult operator()(const Mismatch&) const {
    return not_run(Why::mismatch, ErrorCode::invalid, "the key was run with another payload");
  }
  // Never: claims here refuse when the store is down.
  RunResult operator()(const Unguarded&) const {
    return not_run(Why::store, ErrorCode::unavailable, "the store is down");
  }
  RunResult operator()(const Claimed&) const { std::unreachable(); }
};

}  // namespace

Once::Once(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
Once::Once(std::unique_ptr<Store> store, std::string name_space, Clock& clock, Entropy& entropy)
    : Once(std::make_unique<Local>(std::move(store), std::move(name_space), clock, entropy)) {}
Once::Once(Once&&) noexcept = default;
Once::~Once() = default;

RunResult Once::run(std::string_view key, const RunOptions& options, const Work& work) {
  const ClaimRequest request{.owner = options.owner,
                             .payload = options.payload,
                             .lease = options.lease,
                             .ttl = options.ttl};
  const Time asked = backend_->now();
  Result<ClaimOutcome> taken = backend_->claims().take(key, request, options.wait);
  if (!taken) return not_run(Why::store, taken.error().code, taken.error().message);
  auto* claimed = std::get_if<Claimed>(&*taken);
  if (claimed == nullptr) return std::visit(Elsewhere{}, *taken);
  Attempt attempt(std::string(key), claimed->fence, claimed->attempt);
  // Who waited does not know when the lease began, but that it was not after the answer.
  const bool waited = options.wait > Duration::zero();
  Running running(*backend_, attempt, std::move(*claimed), waited ? backend_->now() : asked,
                  options);
  return running.run(work);
}

Result<effects::Outcome> Once::commit(Effects effects, std::string id) {
  return backend_->commit(std::move(id), std::nullopt, std::move(effects));
}

Claims& Once::claims() { return backend_->claims(); }
Log& Once::log() { return backend_->log(); }
Documents& Once::documents() { return backend_->documents(); }
Tallies& Once::tallies() { return backend_->tallies(); }
Time Once::now() { return backend_->now(); }
Store& Once::store() { return backend_->store(); }

}  // namespace once
