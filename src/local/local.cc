#include "local/local.h"

#include <utility>

namespace once {

Local::Local(std::unique_ptr<Store> store, std::string name_space, Clock& clock, Entropy& entropy)
    : name_space_(std::move(name_space)),
      clock_(clock),
      store_(std::move(store)),
      driver_(*store_, clock, entropy),
      claims_(*store_, name_space_, clock, entropy),
      log_(*store_, name_space_, LogStrategy::conditional, clock, entropy),
      documents_(*store_, name_space_, clock, entropy),
      tallies_(*store_, name_space_, clock, entropy) {}

Result<effects::Outcome> Local::commit(std::string id, std::optional<effects::ClaimPart> claim,
                                       Effects effects, Duration within) {
  return driver_.run(effects::commit({.name_space = name_space_,
                                      .id = std::move(id),
                                      .claim = std::move(claim),
                                      .effects = std::move(effects)}),
                     within);
}

}  // namespace once
