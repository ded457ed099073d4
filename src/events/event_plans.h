// Plans that process one event: take its claim, record its outcome, or release it. Forwarding
// happens outside of plans, between admit() and conclude().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "api/hot_keys.h"
#include "events/cloud_event.h"
#include "events/routes.h"
#include "once/claims.h"

namespace once::events {

// One event to be processed. Shared by several threads, and never changed.
struct EventWork {
  CloudEvent event;
  EventRoute route;  // Empty if no route matches the type.
  std::string name_space;
  std::string claim;  // Its name.
  IfStoreDown if_store_down = IfStoreDown::proceed;
  api::HotKeys* hot = nullptr;  // Where conflicts count.

  bool forwards() const { return !route.forward.empty(); }
  bool records() const { return !route.log.empty() || !route.tally.empty(); }
};
using SharedWork = std::shared_ptr<const EventWork>;

// The event is forwarded without a claim, because the store is down and IfStoreDown is `proceed`.
struct WithoutClaim {
  Error error;
};

// The final answer, or permission to forward the event.
using Admission = std::variant<Response, Claimed, WithoutClaim>;

// Takes the claim. Refuses an event that could not be recorded later because of the store's limits.
Plan<Admission> admit(SharedWork work);

// Completes the claim and adds the event to its log and tally, in one commit. `forwarded` is the
// status of the handler's answer.
Plan<Response> conclude(SharedWork work, Claimed claimed, std::optional<int> forwarded);

// Releases the claim for the next delivery and answers `failed`. If the release fails, the claim is
// free when its lease ends.
Plan<Response> release(SharedWork work, Claimed claimed, Response failed);

// Records an event that was forwarded without a claim, if the store is back.
Plan<Response> record_unguarded(SharedWork work, Error error);

// Everything, for an event that is not forwarded. `checked` is called when the claim was checked,
// so that the caller can measure it.
Plan<Response> process(SharedWork work, std::function<void()> checked);

// The result of admit() if the store cannot be reached.
Admission without_store(const EventWork& work, const Error& error);

}  // namespace once::events
