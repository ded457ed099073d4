#include "local/local.h"

#include <utility>

namespace once {

Local::Local(std::unique_ptr<Store> store, std::string name_space, Clock& clock, Entropy& entropy,
             Commits commits)
    : name_space_(std::move(name_space)),
      clock_(clock),
      store_(std::move(store)),
      batching_(commits == Commits::grouped
                    ? std::make_unique<BatchingDriver>(*store_, BatchingOptions{}, clock, entropy)
                    : nullptr),
      driver_(batching_ ? LocalDriver(*batching_) : LocalDriver(*store_, clock, entropy)),
      claims_(driver_, name_space_),
      log_(driver_, name_space_, LogStrategy::conditional),
      documents_(driver_, name_space_),
      tallies_(driver_, name_space_) {}

Result<effects::Outcome> Local::commit(std::string id, std::optional<effects::ClaimPart> claim,
                                       Effects effects, Duration within) {
  return driver_.run(effects::commit({.name_space = name_space_,
                                      .id = std::move(id),
                                      .claim = std::move(claim),
                                      .effects = std::move(effects)}),
                     within);
}

Result<effects::PrepareOutcome> Local::prepare(std::string id,
                                               std::optional<effects::ClaimPart> claim,
                                               Effects effects, Duration within) {
  return driver_.run(effects::prepare({.name_space = name_space_,
                                       .id = std::move(id),
                                       .claim = std::move(claim),
                                       .effects = std::move(effects)}),
                     within);
}

}  // namespace once
