// A store that this process opened.
#pragma once

#include <memory>
#include <string>

#include "library/backend.h"

namespace once {

class Local final : public Backend {
 public:
  // `clock` and `entropy` must outlive it.
  Local(std::unique_ptr<Store> store, std::string name_space, Clock& clock, Entropy& entropy);

  Claims& claims() override { return claims_; }
  Log& log() override { return log_; }
  Documents& documents() override { return documents_; }
  Tallies& tallies() override { return tallies_; }
  Store& store() override { return *store_; }
  Clock& clock() override { return clock_; }

  Result<RenewOutcome> renew(std::string_view name, const Ticket& ticket, Duration lease,
                             Duration within) override;
  Result<effects::Outcome> commit(std::string id, std::optional<effects::ClaimPart> claim,
                                  Effects effects) override;
  Time now() override { return store_->now(); }
  Time end_of_lease(Time asked, Duration lease, Time told) const override;

 private:
  const std::string name_space_;
  Clock& clock_;
  const std::unique_ptr<Store> store_;
  BlockingDriver driver_;
  Claims claims_;
  Log log_;
  Documents documents_;
  Tallies tallies_;
};

}  // namespace once
