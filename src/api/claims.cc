#include "wire/claims.h"

#include <algorithm>

#include "api/call.h"
#include "api/first_look.h"
#include "once/claims.h"
#include "primitives/keys.h"
#include "primitives/store_secret.h"

namespace once::api {
namespace {

constexpr std::size_t kMaxIds = 10'000;

void note(Telemetry& telemetry, const ClaimOutcome& outcome) {
  telemetry.checked = 1;
  if (const auto* claimed = std::get_if<Claimed>(&outcome)) {
    if (claimed->attempt > 1) telemetry.outcome = Outcome::taken_over;
  } else if (const auto* done = std::get_if<Done>(&outcome)) {
    telemetry.original = done->completed;
    telemetry.duplicates = 1;
  } else if (const auto* busy = std::get_if<Busy>(&outcome)) {
    telemetry.original = busy->claimed;
  } else if (std::holds_alternative<Unguarded>(outcome)) {
    telemetry.outcome = Outcome::unguarded;
  }
}

Plan<Response> answer_take(Key key, wire::TakeRequest request, IfStoreDown policy, HotSpot spot,
                           DataForm form) {
  Result<ClaimOutcome> outcome =
      co_await attempt(claims::take_within(key, request.claim, request.wait));
  outcome = claims::or_proceed(std::move(outcome), policy);
  if (!outcome) co_return std::unexpected(std::move(outcome.error()));
  const Time now = co_await store_now();
  if (std::holds_alternative<Busy>(*outcome)) spot.conflicted(now);
  Response response = wire::encode(*outcome, now, form);
  note(response.telemetry, *outcome);
  response.telemetry.waited = request.wait > Duration::zero();
  co_return response;
}

Plan<Response> answer_renew(Key key, wire::RenewRequest request, HotSpot spot) {
  const RenewOutcome outcome = co_await claims::renew(key, request.ticket, request.lease);
  if (std::holds_alternative<Fenced>(outcome)) {
    const Time now = co_await store_now();
    spot.conflicted(now);
  }
  co_return wire::encode(outcome);
}

// `state` is the claim's after the request.
Plan<Response> settled(SettleOutcome outcome, std::string_view state, HotSpot spot) {
  if (std::holds_alternative<Fenced>(outcome)) {
    const Time now = co_await store_now();
    spot.conflicted(now);
  }
  Response response = wire::encode(outcome, state);
  const auto* const done = std::get_if<Settled>(&outcome);
  if (done != nullptr && !done->replayed) {
    (state == "free" ? response.telemetry.removed : response.telemetry.marked) = 1;
  }
  co_return response;
}

Plan<Response> answer_complete(Key key, wire::CompleteRequest request, HotSpot spot) {
  const SettleOutcome outcome = co_await claims::complete(key, request.ticket, request.result);
  co_return co_await settled(outcome, "done", std::move(spot));
}

Plan<Response> answer_release(Key key, wire::ReleaseRequest request, HotSpot spot) {
  const SettleOutcome outcome =
      co_await claims::release(key, request.ticket, request.failure, request.how);
  const std::string_view state = request.how == Release::final ? "failed" : "free";
  co_return co_await settled(outcome, state, std::move(spot));
}

Plan<Response> answer_show(Key key, std::string name, DataForm form) {
  const std::optional<ClaimState> state = co_await claims::show(key);
  co_return state ? wire::encode(name, *state, form) : wire::no_claim();
}

Plan<Response> answer_forget(Key key, DataForm form) {
  const bool found = co_await claims::forget(key);
  Response response = wire::encode_forgotten(found, form);
  response.telemetry.removed = found ? 1 : 0;
  co_return response;
}

Plan<Response> answer_list(std::string name_space, wire::ClaimListRequest request, DataForm form) {
  const claims::ClaimPage page =
      co_await claims::list(name_space, request.kind, request.cursor, request.limit);
  co_return wire::encode(page, form);
}

void note_seen(Telemetry& telemetry, const std::vector<bool>& first, bool guarded) {
  telemetry.checked = static_cast<std::uint32_t>(first.size());
  if (!guarded) {
    telemetry.outcome = Outcome::unguarded;
    return;
  }
  telemetry.marked = static_cast<std::uint32_t>(std::ranges::count(first, true));
  telemetry.duplicates = telemetry.checked - telemetry.marked;
}

Plan<Response> answer_mark(std::vector<Key> keys, Duration ttl, std::string request,
                           IfStoreDown policy) {
  const std::size_t count = keys.size();
  Result<claims::Seen> seen =
      co_await attempt(claims::seen(std::move(keys), ttl, std::move(request)));
  const bool guarded = seen.has_value();
  seen = claims::or_proceed(std::move(seen), count, policy);
  if (!seen) co_return std::unexpected(std::move(seen.error()));
  Response response = wire::encode(*seen);
  note_seen(response.telemetry, seen->first, guarded);
  co_return response;
}

Result<wire::ClaimListRequest> list_request_of(Call& call) {
  wire::ClaimListRequest request;
  if (const auto state = call.parameter("state")) {
    const Result<ClaimState::Kind> kind = wire::decode_claim_kind(*state);
    if (!kind) return std::unexpected(kind.error());
    request.kind = *kind;
  }
  const auto limit = call.integer("limit");
  if (!limit) return std::unexpected(limit.error());
  const std::int64_t most = limit->value_or(1'000);
  if (most < 1 || most > 10'000) return failure(ErrorCode::invalid, "limit is 1 to 10000");
  request.limit = static_cast<std::size_t>(most);
  Result<std::string> cursor = wire::decode_cursor(call.parameter("cursor").value_or(""));
  if (!cursor) return std::unexpected(std::move(cursor.error()));
  request.cursor = std::move(*cursor);
  return request;
}

}  // namespace

Answer take_claim(Call& call) {
  Result<wire::TakeRequest> request = wire::decode_take_request(call.request.body, call.form);
  if (!request) return problem(request.error());
  request->wait = std::min(request->wait, kMaxWait);
  const Duration wait = request->wait;
  Answer answer =
      answer_take(keys::claim(call.name_space, call.name), std::move(*request),
                  call.service.options().if_store_down, call.hot_spot("claims"), call.form);
  answer.waits = wait;
  return answer;
}

Answer renew_claim(Call& call) {
  Result<wire::RenewRequest> request = wire::decode_renew_request(call.request.body);
  if (!request) return problem(request.error());
  return answer_renew(keys::claim(call.name_space, call.name), std::move(*request),
                      call.hot_spot("claims"));
}

Answer complete_claim(Call& call) {
  Result<wire::CompleteRequest> request =
      wire::decode_complete_request(call.request.body, call.form);
  if (!request) return problem(request.error());
  return answer_complete(keys::claim(call.name_space, call.name), std::move(*request),
                         call.hot_spot("claims"));
}

Answer release_claim(Call& call) {
  Result<wire::ReleaseRequest> request = wire::decode_release_request(call.request.body, call.form);
  if (!request) return problem(request.error());
  return answer_release(keys::claim(call.name_space, call.name), std::move(*request),
                        call.hot_spot("claims"));
}

Answer show_claim(Call& call) {
  return answer_show(keys::claim(call.name_space, call.name), call.name, call.form);
}

Answer forget_claim(Call& call) {
  return answer_forget(keys::claim(call.name_space, call.name), call.form);
}

Answer list_claims(Call& call) {
  Result<wire::ClaimListRequest> request = list_request_of(call);
  if (!request) return problem(request.error());
  return answer_list(call.name_space, std::move(*request), call.form);
}

Answer mark_seen(Call& call) {
  Result<wire::SeenRequest> request = wire::decode_seen_request(call.request.body);
  if (!request) return problem(request.error());
  const std::vector<std::string>& ids = request->ids;
  if (ids.empty() || ids.size() > kMaxIds) return problem(Code::invalid, "ids are 1 to 10000");
  std::vector<Key> keys;
  keys.reserve(ids.size());
  for (const std::string& id : ids) {
    if (Result<void> ok = keys::check_name(id); !ok) return problem(ok.error());
    keys.push_back(keys::claim(call.name_space, id));
  }
  return answer_mark(std::move(keys), request->ttl, std::move(request->request),
                     call.service.options().if_store_down);
}

Plan<const StoreSecret*> learn_secret() { return read_store_secret(); }

}  // namespace once::api
