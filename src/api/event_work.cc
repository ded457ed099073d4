#include "api/event_work.h"

#include <algorithm>
#include <utility>

#include "api/event_answers.h"
#include "once/effects.h"
#include "primitives/effects_work.h"

namespace once::api {
namespace {

// What is not forwarded is done in a moment.
constexpr Duration kShortLease = std::chrono::seconds(10);

// How often recording is tried again: the handler has done its part already.
constexpr int kTries = 4;
constexpr Duration kFirstPause{50};

bool is_down(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::unknown;
}

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
  const Result<effects::Work> possible = effects::Work::of(request, limits, now);
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

// Without effects it is one write, which every store can do.
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

// The ticket keeps what is sent again from happening twice.
Plan<effects::Outcome> record_patiently(SharedWork work, Ticket ticket, Bytes result) {
  Duration wait = kFirstPause;
  for (int tries = 1;; ++tries, wait *= 2) {
    Recorded recorded = co_await attempt(record(work, ticket, result));
    if (recorded) co_return std::move(*recorded);
    if (!is_down(recorded.error()) || tries == kTries) {
      co_return std::unexpected(std::move(recorded.error()));
    }
    co_await pause(wait);
  }
}

Plan<Response> refused(SharedWork work, Claimed claimed, effects::Refused why) {
  const Time now = co_await store_now();
  if (why.part == effects::Refused::Part::claim) {
    if (work->hot != nullptr) {
      work->hot->conflicted(work->name_space, "claims/" + work->claim, now);
    }
    co_return overtaken(*work);
  }
  Response failed = other_tally(*work);
  co_return co_await freed(work, claimed, failed);
}

// What a commit would refuse after the handler has acted is refused before (a handler would act
// again at every delivery).
Plan<Admission> claimed_to_forward(SharedWork work, Claimed claimed) {
  if (!work->forwards() || work->route.tally.empty()) co_return claimed;
  const Key key = tallies::tally_key(work->name_space, work->route.tally);
  const TallyRequest request = one_more();
  const Result<std::optional<OtherTally>> other =
      co_await attempt(tallies::other_than(key, request));
  if (!other || !*other) co_return claimed;  // What cannot be asked is found out at the commit.
  const Response failed = other_tally(*work);
  co_return co_await freed(work, claimed, failed);
}

}  // namespace

Admission without_store(const EventWork& work, const Error& error) {
  const bool proceeds = is_down(error) && work.if_store_down == IfStoreDown::proceed;
  if (!proceeds) return noted(problem(error), work);
  if (work.forwards()) return WithoutClaim{error};
  if (!work.records()) return unguarded(work, error, AllDone::yes);
  return noted(problem(error), work);
}

Plan<Admission> admitted(SharedWork work) {
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
    co_return co_await claimed_to_forward(work, *claimed);
  }
  if (const auto* done = std::get_if<Done>(&*outcome)) co_return duplicate(*work, *done);
  now = co_await store_now();
  if (work->hot != nullptr) {
    work->hot->conflicted(work->name_space, "claims/" + work->claim, now);
  }
  if (const auto* busy = std::get_if<Busy>(&*outcome)) co_return in_flight(*work, *busy, now);
  co_return overtaken(*work);
}

Plan<Response> concluded(SharedWork work, Claimed claimed, std::optional<int> forwarded) {
  const Bytes result = result_of(forwarded);
  Recorded recorded = co_await attempt(record_patiently(work, claimed.ticket, result));
  if (recorded) {
    if (std::holds_alternative<effects::Made>(*recorded)) {
      co_return handled(*work, claimed.attempt);
    }
    effects::Refused why = std::get<effects::Refused>(std::move(*recorded));
    co_return co_await refused(work, claimed, why);
  }
  co_return not_recorded(*work, recorded.error(), forwarded.has_value());
}

Plan<Response> freed(SharedWork work, Claimed claimed, Response failed) {
  const Key key = key_of(*work);
  const Bytes why = failed.body;
  const Result<SettleOutcome> settled =
      co_await attempt(claims::release(key, claimed.ticket, why, Release::retryable));
  if (settled && std::holds_alternative<Settled>(*settled)) failed.notes.removed = 1;
  co_return failed;
}

Plan<Response> made_up_for(SharedWork work, Error error) {
  const Key key = key_of(*work);
  const ClaimRequest request = claim_of(*work);
  const Result<ClaimOutcome> outcome = co_await attempt(claims::take(key, request));
  const Claimed* const claimed = outcome ? std::get_if<Claimed>(&*outcome) : nullptr;
  bool made = outcome && claimed == nullptr;  // Another delivery has done it, or is about to.
  if (claimed != nullptr) {
    const Bytes result = result_of(std::nullopt);
    const Recorded recorded = co_await attempt(record(work, claimed->ticket, result));
    made = recorded && std::holds_alternative<effects::Made>(*recorded);
  }
  co_return unguarded(*work, error, made || !work->records() ? AllDone::yes : AllDone::no);
}

Plan<Response> processed(SharedWork work, std::function<void()> checked) {
  Admission admission = co_await admitted(work);
  if (checked) checked();
  if (auto* answer = std::get_if<Response>(&admission)) co_return std::move(*answer);
  const Claimed claimed = std::get<Claimed>(admission);
  co_return co_await concluded(work, claimed, std::nullopt);
}

}  // namespace once::api
