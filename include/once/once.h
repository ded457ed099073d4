// The front door: one object for everything Once does on a store, in one namespace.
//
//   auto once = once::open("/var/lib/jobs");                      // once/open.h
//   auto paid = once->run("invoice-42", {.lease = 30s},
//                         [](once::Attempt& attempt) -> once::Result<once::Effects> { ... });
//
// Safe to share between threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "once/effects.h"

namespace once {

// One try at a piece of work. Lives as long as the work runs.
class Attempt {
 public:
  Attempt(std::string key, std::int64_t fence, std::int64_t number)
      : key_(std::move(key)), fence_(fence), number_(number) {}

  const std::string& key() const { return key_; }

  // Only rises for a key: what is told it can refuse an attempt that was taken over.
  std::int64_t fence() const { return fence_; }

  std::int64_t number() const { return number_; }  // From 1.

  // The lease could not be kept, and another may be at work by now: stop soon. What this attempt
  // returns will probably be refused.
  bool lost() const { return lost_; }

  // The end of the lease, by the clock that counts it; later after each renewal. Nothing of this
  // attempt may go on after it.
  Time lease_until() const { return lease_until_; }

  // The effects and the outcome as a token, for `select once.apply(token)` in a transaction of the
  // work's own on the store's database (docs/transactions.md). From then on they happen by that
  // transaction or not at all: what the work returns is not committed, and if it ends without
  // having applied the last token, the attempt has failed and the key is free. Made: an earlier
  // token of this attempt was applied, although its transaction may have looked lost.
  //
  // A renewal would make the token fail, so the lease is not renewed any more, except by the next
  // call of this: apply soon. A token fails once another attempt has taken over.
  Result<effects::PrepareOutcome> prepare(const Effects& effects);

  // `return attempt.retry_later(...)`: the key is free for the next attempt. So is it after any
  // other error.
  std::unexpected<Error> retry_later(Error reason) const {
    return std::unexpected(std::move(reason));
  }
  std::unexpected<Error> retry_later(std::string reason) const {
    return failure(ErrorCode::unavailable, std::move(reason));
  }

  // `return attempt.give_up(...)`: the failure is the outcome, and is not tried again.
  std::unexpected<Error> give_up(std::string reason) {
    gave_up_ = true;
    return failure(ErrorCode::invalid, std::move(reason));
  }

 private:
  friend class Run;

  const std::string key_;
  const std::int64_t fence_;
  const std::int64_t number_;
  std::atomic<bool> lost_ = false;
  std::atomic<Time> lease_until_ = kNever;
  std::function<Result<effects::PrepareOutcome>(const Effects&)> prepare_;
  std::optional<Effects> prepared_;  // Last.
  bool gave_up_ = false;
};

struct RunOptions {
  Duration lease = std::chrono::seconds(30);  // Kept by itself while the work runs.
  Duration ttl = std::chrono::hours(24);      // How long the outcome is replayed.
  Duration wait = Duration::zero();           // For another's attempt to end.
  std::string owner;                          // A label for people.
  std::optional<std::string> payload;         // The same key with another one is refused.

  // Waits for `length` between two looks at another's attempt; false gives up, as if `wait` were
  // over. Without it the wait cannot be interrupted, and a server waits on our behalf.
  std::function<bool(Duration length)> pause;

  // How long to try to record what the work came to, while the store cannot be reached.
  Duration patience = kAttemptLife;

  // Called on another thread while the work runs: after each renewal of the lease, for what is to
  // be kept as long as that, and once when the lease is lost (attempt.lost()), for stopping.
  std::function<void(const Attempt&)> on_renewal;

  // Called when what the work returned is too large for the store: what to record in its place. If
  // that is nothing, the attempt fails for good.
  std::function<std::optional<Effects>()> smaller;
};

// The work has an outcome.
struct Ran {
  Bytes result;
  bool replayed = false;  // By an earlier run.
  Time completed;
  effects::Made made;  // What its effects came to; empty when replayed.
};

// It has none, or a failure.
struct NotRun {
  enum class Why : std::uint8_t {
    busy,         // Another attempt is under way, until `until` at least.
    mismatch,     // The key was run with another payload.
    retry,        // The work failed; the key is free for another attempt.
    failed,       // It failed for good, now or earlier.
    fenced,       // Its lease was lost. It was not begun, or its effects are refused.
    refused,      // It ran, but a condition of its effects did not hold; the key is free.
    store_error,  // Of the claim or of the recording: its code tells whether that happened.
  };
  Why why = Why::store_error;
  Error error;
  Time until;                               // busy.
  std::string owner;                        // busy: the label of the other attempt.
  std::optional<effects::Refused> refused;  // refused.
  std::optional<Error> unrecorded;          // retry, failed: why the store was not told.
};
using RunResult = std::expected<Ran, NotRun>;

class Backend;  // once/backend.h

class Once {
 public:
  using Work = std::function<Result<Effects>(Attempt&)>;

  // `clock` and `entropy` must outlive it.
  explicit Once(std::unique_ptr<Store> store, std::string name_space = "default",
                Clock& clock = system_clock(), Entropy& entropy = system_entropy());
  // On anything else, such as a server: what open() makes of its address.
  explicit Once(std::unique_ptr<Backend> backend);

  Once(Once&&) noexcept;
  ~Once();

  // Runs `work` on the caller's thread if `key` has no outcome and no other attempt is under way.
  // Its effects happen together with the recording of its outcome, or not at all. Never again after
  // that; again only if this attempt does not finish.
  //
  // A result or effects that are too large, or that the store cannot hold, are recorded as a
  // failure for good, so that the work is not repeated for them. Effects that are invalid free the
  // key.
  RunResult run(std::string_view key, const RunOptions& options, const Work& work);

  // The effects alone. With an id, a repeat does nothing and gets the same answer. `within` bounds
  // it as in claims.h.
  Result<effects::Outcome> commit(Effects effects, std::string id = "",
                                  Duration within = kAttemptLife);

  // The effects as a token, for `select once.apply(token)` in a transaction of the caller's own on
  // the store's database: they happen if that commits. Once applied, a commit under the same id is
  // a repeat. `unsupported` on stores other than PostgreSQL.
  Result<effects::PrepareOutcome> prepare(Effects effects, std::string id = "",
                                          Duration within = kAttemptLife);

  Claims& claims();
  Log& log();  // Of strategy `conditional`, as effects use it.
  Documents& documents();
  Tallies& tallies();

  // The store's time, as it is known here.
  Time now();

  // The store, if it is in this process; null through a server.
  Store* store();

 private:
  std::unique_ptr<Backend> backend_;
};

}  // namespace once
