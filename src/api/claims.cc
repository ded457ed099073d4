#include "wire/claims.h"

#include <algorithm>

#include "api/audit.h"
#include "api/call.h"
#include "api/first_look.h"
#include "once/claims.h"
#include "primitives/keys.h"
#include "primitives/store_secret.h"

namespace once::api {
namespace {

constexpr std::size_t kMaxIds = 10'000;

// What a request that names no ttl gets, if that is not the usual.
void choose_ttl(const Call& call, Duration& ttl) {
  const std::optional<Duration>& standard = call.service.options().default_ttl;
  if (!standard) return;
  const Result<Json> body = call.json();
  Json named;
  if (body && body->at_key("ttl").get(named) != simdjson::SUCCESS) ttl = *standard;
}

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

Plan<Response> answer_renew(Key key, wire::RenewRequest request, Duration keep_abandoned,
                            HotSpot spot) {
  const RenewOutcome outcome =
      co_await claims::renew(key, request.ticket, request.lease, keep_abandoned);
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

Plan<Response> answer_forget(Key key, DataForm form, Recording recording) {
  const bool found = co_await claims::forget(key, recording);
  Response response = wire::encode_forgotten(found, form);
  response.telemetry.removed = found ? 1 : 0;
  co_return response;
}

Plan<Response> answer_list(std::string name_space, wire::ClaimListRequest request, DataForm form) {
  const claims::ClaimPage page =
      co_await claims::list(name_space, request.filter, request.cursor, request.limit);
  co_return wire::encode(page, form);
}

Plan<Response> answer_forget_all(std::string name_space, claims::BulkRequest request,
                                 Recording recording) {
  const claims::BulkOutcome outcome = co_await claims::forget_all(name_space, request, recording);
  Response response = wire::encode(outcome, "forgotten");
  if (!request.dry_run) response.telemetry.removed = static_cast<std::uint32_t>(outcome.count);
  co_return response;
}

Plan<Response> answer_retry_all(std::string name_space, claims::BulkRequest request,
                                Recording recording) {
  const claims::BulkOutcome outcome = co_await claims::retry_all(name_space, request, recording);
  co_return wire::encode(outcome, "retried");
}

Plan<Response> answer_release_all(std::string name_space, claims::BulkRequest request,
                                  Recording recording) {
  const claims::BulkOutcome outcome = co_await claims::release_all(name_space, request, recording);
  co_return wire::encode(outcome, "released");
}

Plan<Response> answer_show_seen(Key key, std::string id) {
  const std::optional<claims::SeenMark> mark = co_await claims::show_seen(key);
  co_return mark ? wire::encode(id, *mark) : wire::not_seen();
}

Plan<Response> answer_forget_seen(Key key, Recording recording) {
  const bool found = co_await claims::forget_seen(key, recording);
  if (!found) co_return wire::not_seen();
  Response response{204, {}, ""};
  response.telemetry.removed = 1;
  co_return response;
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
  claims::ClaimFilter& filter = request.filter;
  if (const auto state = call.parameter("state"); state && !state->empty()) {
    const Result<ClaimState::Kind> kind = wire::decode_claim_kind(*state);
    if (!kind) return std::unexpected(kind.error());
    filter.kind = *kind;
  }
  filter.owner = call.parameter("owner").value_or("");
  const auto older = call.duration("older_than");
  if (!older) return std::unexpected(older.error());
  filter.older_than = *older;
  Result<wire::ListingRequest> page = call.listing();
  if (!page) return std::unexpected(std::move(page.error()));
  filter.prefix = std::move(page->prefix);
  request.cursor = std::move(page->cursor);
  request.limit = page->limit;
  return request;
}

// `change` is a bulk operation on the claims that the body says.
Answer in_bulk(Call& call, std::string_view action,
               Plan<Response> (*change)(std::string, claims::BulkRequest, Recording)) {
  Result<claims::BulkRequest> request = wire::decode_bulk_request(call.request.body);
  if (!request) return problem(request.error());
  if (!request->name.empty()) {
    if (Result<void> ok = keys::check_name(request->name); !ok) return problem(ok.error());
  }
  return change(call.name_space, std::move(*request), audit_of(call, action));
}

}  // namespace

Answer take_claim(Call& call) {
  Result<wire::TakeRequest> request = wire::decode_take_request(call.request.body, call.form);
  if (!request) return problem(request.error());
  choose_ttl(call, request->claim.ttl);
  request->wait = std::min(request->wait, kMaxWait);
  // A claim that waits is told who holds it, before its time is over.
  if (call.timeout) request->wait = std::min(request->wait, *call.timeout - *call.timeout / 4);
  if (request->claim.keep_abandoned == kKeepAbandoned) {
    request->claim.keep_abandoned = call.service.options().keep_abandoned;
  }
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
                      call.service.options().keep_abandoned, call.hot_spot("claims"));
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
  return answer_forget(keys::claim(call.name_space, call.name), call.form,
                       audit_of(call, "claim.forget"));
}

Answer list_claims(Call& call) {
  Result<wire::ClaimListRequest> request = list_request_of(call);
  if (!request) return problem(request.error());
  return answer_list(call.name_space, std::move(*request), call.form);
}

Answer forget_claims(Call& call) { return in_bulk(call, "claim.forget", answer_forget_all); }

Answer retry_claims(Call& call) { return in_bulk(call, "claim.retry", answer_retry_all); }

Answer release_claims(Call& call) { return in_bulk(call, "claim.release", answer_release_all); }

Answer show_seen(Call& call) {
  return answer_show_seen(keys::seen(call.name_space, call.name), call.name);
}

Answer forget_seen(Call& call) {
  return answer_forget_seen(keys::seen(call.name_space, call.name), audit_of(call, "seen.forget"));
}

Answer mark_seen(Call& call) {
  Result<wire::SeenRequest> request = wire::decode_seen_request(call.request.body);
  if (!request) return problem(request.error());
  choose_ttl(call, request->ttl);
  const std::vector<std::string>& ids = request->ids;
  if (ids.empty() || ids.size() > kMaxIds) return problem(Code::invalid, "ids are 1 to 10000");
  std::vector<Key> keys;
  keys.reserve(ids.size());
  for (const std::string& id : ids) {
    if (Result<void> ok = keys::check_name(id); !ok) return problem(ok.error());
    keys.push_back(keys::seen(call.name_space, id));
  }
  constexpr std::size_t kBytesOfId = 64;
  const std::size_t weight = keys.size() * kBytesOfId;
  Answer answer = answer_mark(std::move(keys), request->ttl, std::move(request->request),
                              call.service.options().if_store_down);
  answer.weight = weight;
  return answer;
}

Plan<const StoreSecret*> learn_secret() { return read_store_secret(); }

}  // namespace once::api
