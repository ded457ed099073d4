// The primitives on a store that this process opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "once/backend.h"
#include "once/local.h"

namespace once {

// How the commits of a Local reach its store.
enum class Commits : std::uint8_t {
  alone,    // Each call commits on the caller's thread, so nothing runs between calls.
  grouped,  // By a thread of its own, those of many callers together: for doors with many threads.
};

class Local final : public Backend {
 public:
  // `clock` and `entropy` must outlive it.
  Local(std::unique_ptr<Store> store, std::string name_space, Clock& clock, Entropy& entropy,
        Commits commits = Commits::alone);

  Claims& claims() override { return claims_; }
  Log& log() override { return log_; }
  Documents& documents() override { return documents_; }
  Tallies& tallies() override { return tallies_; }
  Store* store() override { return store_.get(); }
  Clock& clock() override { return clock_; }

  Result<effects::Outcome> commit(std::string id, std::optional<effects::ClaimPart> claim,
                                  Effects effects, Duration within) override;
  Result<effects::PrepareOutcome> prepare(std::string id, std::optional<effects::ClaimPart> claim,
                                          Effects effects, Duration within) override;
  Time now() override { return store_->now(); }

 private:
  const std::string name_space_;
  Clock& clock_;
  const std::unique_ptr<Store> store_;
  const std::unique_ptr<BatchingDriver> batching_;  // Null if commits are alone.
  LocalDriver driver_;
  LocalClaims claims_;
  LocalLog log_;
  LocalDocuments documents_;
  LocalTallies tallies_;
};

}  // namespace once
