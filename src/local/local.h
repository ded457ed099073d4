// The primitives on a store that this process opened.
#pragma once

#include <memory>
#include <string>

#include "once/backend.h"
#include "once/local.h"

namespace once {

class Local final : public Backend {
 public:
  // `clock` and `entropy` must outlive it.
  Local(std::unique_ptr<Store> store, std::string name_space, Clock& clock, Entropy& entropy);

  Claims& claims() override { return claims_; }
  Log& log() override { return log_; }
  Documents& documents() override { return documents_; }
  Tallies& tallies() override { return tallies_; }
  Store* store() override { return store_.get(); }
  Clock& clock() override { return clock_; }

  Result<effects::Outcome> commit(std::string id, std::optional<effects::ClaimPart> claim,
                                  Effects effects, Duration within) override;
  Time now() override { return store_->now(); }

 private:
  const std::string name_space_;
  Clock& clock_;
  const std::unique_ptr<Store> store_;
  BlockingDriver driver_;
  LocalClaims claims_;
  LocalLog log_;
  LocalDocuments documents_;
  LocalTallies tallies_;
};

}  // namespace once
