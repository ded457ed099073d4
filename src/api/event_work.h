// One event on its way: whose turn it is, and what is recorded when it was handled. All are plans;
// forwarding, which none of them does, comes between admitted() and concluded().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "api/cloud_event.h"
#include "api/event_routes.h"
#include "api/hot_keys.h"
#include "once/claims.h"

namespace once::api {

// Never changes once it is made: several threads hold it.
struct EventWork {
  CloudEvent event;
  EventRoute route;  // One that does nothing, where there is none for the type.
  std::string name_space;
  std::string claim;  // Its name.
  IfStoreDown if_store_down = IfStoreDown::proceed;
  HotKeys* hot = nullptr;  // Where conflicts count.

  bool forwards() const { return !route.forward.empty(); }
  bool records() const { return !route.log.empty() || !route.tally.empty(); }
};
using SharedWork = std::shared_ptr<const EventWork>;

// It is forwarded without a claim: the store is down, and the configuration wants it passed.
struct WithoutClaim {
  Error error;
};

// The answer already, or this delivery's turn.
using Admission = std::variant<Response, Claimed, WithoutClaim>;

// What cannot be recorded later, because of its size or of what the store can do, is refused here.
Plan<Admission> admitted(SharedWork work);

// The claim is completed, and the event logged and tallied, in one commit. `forwarded` is the
// status that the handler gave.
Plan<Response> concluded(SharedWork work, Claimed claimed, std::optional<int> forwarded);

// The claim is free for the next delivery. The answer is `failed`, whether that worked or not: at
// last the end of the lease frees it.
Plan<Response> freed(SharedWork work, Claimed claimed, Response failed);

// What was forwarded without a claim is marked and recorded, if the store is back.
Plan<Response> made_up_for(SharedWork work, Error error);

// All of it, for what is not forwarded. `checked` is called when it is known whose turn it is, for
// those who measure.
Plan<Response> processed(SharedWork work, std::function<void()> checked);

// What admitted() comes to if the store cannot be asked.
Admission without_store(const EventWork& work, const Error& error);

}  // namespace once::api
