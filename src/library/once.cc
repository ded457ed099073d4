#include "once/once.h"

#include <utility>

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

struct Once::Parts {
  Parts(std::unique_ptr<Store> opened, std::string in, Clock& with, Entropy& from)
      : name_space(std::move(in)),
        clock(with),
        store(std::move(opened)),
        driver(*store, with, from),
        claims(*store, name_space, with, from),
        log(*store, name_space, LogStrategy::conditional, with, from),
        documents(*store, name_space, with, from),
        tallies(*store, name_space, with, from) {}

  const std::string name_space;
  Clock& clock;
  std::unique_ptr<Store> store;
  BlockingDriver driver;
  Claims claims;
  Log log;
  Documents documents;
  Tallies tallies;
};

Once::Once(std::unique_ptr<Store> store, std::string name_space, Clock& clock, Entropy& entropy)
    : parts_(std::make_unique<Parts>(std::move(store), std::move(name_space), clock, entropy)) {}
Once::Once(Once&&) noexcept = default;
Once::~Once() = default;

RunResult Once::run(std::string_view key, const RunOptions& options, const Work& work) {
  const ClaimRequest request{.owner = options.owner,
                             .payload = options.payload,
                             .lease = options.lease,
                             .ttl = options.ttl};
  Result<ClaimOutcome> taken = parts_->claims.take(key, request, options.wait);
  if (!taken) return not_run(Why::store, taken.error().code, taken.error().message);
  auto* claimed = std::get_if<Claimed>(&*taken);
  if (claimed == nullptr) return std::visit(Elsewhere{}, *taken);
  Attempt attempt(std::string(key), claimed->fence, claimed->attempt);
  Running running(parts_->driver, *parts_->store, parts_->clock, parts_->name_space, attempt,
                  std::move(*claimed), options);
  return running.run(work);
}

Result<effects::Outcome> Once::commit(Effects effects, std::string id) {
  return parts_->driver.run(effects::commit(
      {.name_space = parts_->name_space, .id = std::move(id), .effects = std::move(effects)}));
}

Claims& Once::claims() { return parts_->claims; }
Log& Once::log() { return parts_->log; }
Documents& Once::documents() { return parts_->documents; }
Tallies& Once::tallies() { return parts_->tallies; }
Store& Once::store() { return *parts_->store; }

}  // namespace once
