#include "events/event_plans.h"

#include <algorithm>
#include <utility>

#include "events/answers.h"
#include "once/effects.h"
#include "primitives/commit_resolved.h"
#include "primitives/prepared_effects.h"
#include "wire/json.h"
#include "wire/problem.h"

namespace once::events {
namespace {

using api::JsonObject;
using api::problem;

// For events that are not forwarded: they are done quickly.
constexpr Duration kShortLease = std::chrono::seconds(10);

// Recording is retried, because the handler has acted already.
constexpr int kRecordTries = 4;
constexpr PauseBounds kRecordPauses{
    .shortest = Duration(50), .first = Duration(100), .longest = Duration(400)};

Key key_of(const EventWork& work) { return claims::claim_key(work.name_space, work.claim); }

ClaimRequest claim_of(const EventWork& work) {
  ClaimRequest request;
  request.owner = "events";
  request.lease = work.forwards() ? work.route.lease : std::min(work.route.lease, kShortLease);
  request.ttl = work.route.ttl;
  return request;
}

TallyRequest one_more() {
  TallyRequest one;
  one.shape.kind = TallyKind::count;
  one.input = std::int64_t{1};
  return one;
}

Effects effects_of(const EventWork& work) {
  Effects effects;
  if (!work.route.log.empty()) effects.append(work.route.log, structured_line(work.event));
  if (!work.route.tally.empty()) effects.merge(work.route.tally, one_more());
  return effects;
}

Result<void> check_recordable(const EventWork& work, const Limits& limits, Time now) {
  if (!work.records()) return {};
  effects::Request request{.name_space = work.name_space};
  request.effects = effects_of(work);
  const Result<effects::PreparedEffects> possible = effects::prepared_effects(request, limits, now);
  if (!possible) return std::unexpected(possible.error());
  return {};
}

Bytes result_of(std::optional<int> forwarded) {
  JsonObject result;
  result.text("status", "processed");
  if (forwarded) result.integer("forwarded", *forwarded);
  return result.finish();
}

using Recorded = Result<effects::Outcome>;

// Without a log and a tally this is one write, which every store supports.
Plan<effects::Outcome> complete_only(SharedWork work, Ticket ticket, Bytes result) {
  using effects::Refused;
  const SettleOutcome settled = co_await claims::complete(key_of(*work), ticket, result);
  if (std::holds_alternative<Settled>(settled)) co_return effects::Made{};
  co_return Refused{Refused::Part::claim, 0, Fenced{}};
}

Plan<effects::Outcome> record(SharedWork work, Ticket ticket, Bytes result) {
  if (!work->records()) co_return co_await complete_only(work, ticket, result);
  effects::Request request{.name_space = work->name_space};
  request.claim = effects::ClaimPart{work->claim, ticket};
  request.effects = effects_of(*work);
  request.effects.result(result);
  co_return co_await effects::commit(request);
}

// Safe to repeat: the ticket allows one completion.
Plan<effects::Outcome> record_patiently(SharedWork work, Ticket ticket, Bytes result) {
  for (int tries = 1;; ++tries) {
    Recorded recorded = co_await attempt(record(work, ticket, result));
    if (recorded) co_return std::move(*recorded);
    if (!is_transient(recorded.error()) || tries == kRecordTries) {
      co_return std::unexpected(std::move(recorded.error()));
    }
    co_await back_off(tries - 1, kRecordPauses);
  }
}

Plan<Response> refuse(SharedWork work, Claimed claimed, effects::Refused why) {
  const Time now = co_await store_now();
  if (why.part == effects::Refused::Part::claim) {
    if (work->hot != nullptr) {
      work->hot->conflicted(work->name_space, "claims/" + work->claim, now);
    }
    co_return overtaken(*work);
  }
  const bool closed = why.part == effects::Refused::Part::log;
  const Response failed = closed ? closed_log(*work) : other_tally(*work);
  co_return co_await release(work, claimed, failed);
}

// Finds out before the handler acts that the tally has another kind. The commit would refuse it,
// and the handler would act again at every delivery.
Plan<Admission> check_tally(SharedWork work, Claimed claimed) {
  if (!work->forwards() || work->route.tally.empty()) co_return claimed;
  const Key key = tallies::tally_key(work->name_space, work->route.tally);
  const TallyRequest request = one_more();
  const Result<std::optional<OtherTally>> other =
      co_await attempt(tallies::other_than(key, request));
  if (!other || !*other) co_return claimed;  // On a store error the commit decides.
  const Response failed = other_tally(*work);
  co_return co_await release(work, claimed, failed);
}

}  // namespace

Admission without_store(const EventWork& work, const Error& error) {
  const bool proceeds = is_transient(error) && work.if_store_down == IfStoreDown::proceed;
  if (!proceeds) return noted(problem(error), work);
  if (work.forwards()) return WithoutClaim{error};
  if (!work.records()) return unguarded(work, error, AllDone::yes);
  return noted(problem(error), work);
}

Plan<Admission> admit(SharedWork work) {
  const Limits* const limits = co_await store_limits();
  Time now = co_await store_now();
  if (const Result<void> ok = check_recordable(*work, *limits, now); !ok) {
    co_return noted(problem(ok.error()), *work);
  }
  const Key key = key_of(*work);
  const ClaimRequest request = claim_of(*work);
  Result<ClaimOutcome> outcome = co_await attempt(claims::take(key, request));
  if (!outcome) co_return without_store(*work, outcome.error());
  if (const auto* claimed = std::get_if<Claimed>(&*outcome)) {
    co_return co_await check_tally(work, *claimed);
  }
  if (const auto* done = std::get_if<Done>(&*outcome)) co_return duplicate(*work, *done);
  now = co_await store_now();
  if (work->hot != nullptr) {
    work->hot->conflicted(work->name_space, "claims/" + work->claim, now);
  }
  if (const auto* busy = std::get_if<Busy>(&*outcome)) co_return in_flight(*work, *busy, now);
  co_return overtaken(*work);
}

Plan<Response> conclude(SharedWork work, Claimed claimed, std::optional<int> forwarded) {
  const Bytes result = result_of(forwarded);
  Recorded recorded = co_await attempt(record_patiently(work, claimed.ticket, result));
  if (recorded) {
    if (std::holds_alternative<effects::Made>(*recorded)) {
      co_return handled(*work, claimed.attempt);
    }
    effects::Refused why = std::get<effects::Refused>(std::move(*recorded));
    co_return co_await refuse(work, claimed, why);
  }
  co_return not_recorded(*work, recorded.error(), forwarded.has_value());
}

Plan<Response> release(SharedWork work, Claimed claimed, Response failed) {
  const Key key = key_of(*work);
  const Bytes why = failed.body;
  const Result<SettleOutcome> settled =
      co_await attempt(claims::release(key, claimed.ticket, why, Release::retryable));
  if (settled && std::holds_alternative<Settled>(*settled)) failed.telemetry.removed = 1;
  co_return failed;
}

Plan<Response> record_unguarded(SharedWork work, Error error) {
  const Key key = key_of(*work);
  const ClaimRequest request = claim_of(*work);
  const Result<ClaimOutcome> outcome = co_await attempt(claims::take(key, request));
  const Claimed* const claimed = outcome ? std::get_if<Claimed>(&*outcome) : nullptr;
  bool made = outcome && claimed == nullptr;  // Another delivery did or does it.
  if (claimed != nullptr) {
    const Bytes result = result_of(std::nullopt);
    const Recorded recorded = co_await attempt(record(work, claimed->ticket, result));
    made = recorded && std::holds_alternative<effects::Made>(*recorded);
  }
  co_return unguarded(*work, error, made || !work->records() ? AllDone::yes : AllDone::no);
}

Plan<Response> process(SharedWork work, std::function<void()> checked) {
  Admission admission = co_await admit(work);
  if (checked) checked();
  if (auto* answer = std::get_if<Response>(&admission)) co_return std::move(*answer);
  const Claimed claimed = std::get<Claimed>(admission);
  co_return co_await conclude(work, claimed, std::nullopt);
}

}  // namespace once::events
