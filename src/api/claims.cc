#include "once/claims.h"

#include <algorithm>

#include "api/call.h"
#include "primitives/keys.h"
#include "primitives/text_armor.h"

namespace once::api {
namespace {

constexpr Duration kDefaultTtl = std::chrono::hours(24);
constexpr Duration kDefaultLease = std::chrono::seconds(30);
constexpr std::size_t kMaxIds = 10'000;

struct Taking {
  ClaimRequest request;
  Duration wait{0};
};

Result<Taking> taking_of(Fields& fields, DataForm form) {
  Taking taking;
  taking.request.owner = fields.text("owner").value_or("");
  taking.request.request = fields.text("request").value_or("");
  taking.request.payload = take_text(fields, "payload", form);
  taking.request.lease = fields.duration("lease").value_or(kDefaultLease);
  taking.request.ttl = fields.duration("ttl").value_or(kDefaultTtl);
  taking.wait = std::min(fields.duration("wait").value_or(Duration::zero()), kMaxWait);
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return taking;
}

Response claimed_response(const Claimed& claimed) {
  Response response = json_response(201, JsonObject()
                                             .text("state", "claimed")
                                             .text("ticket", claimed.ticket.text)
                                             .integer("fence", claimed.fence)
                                             .integer("attempt", claimed.attempt)
                                             .time("lease_until", claimed.lease_until)
                                             .finish());
  if (claimed.attempt > 1) response.notes.outcome = Outcome::taken_over;
  return claimed.repeated ? replayed(std::move(response)) : response;
}

Response done_response(const Done& done, DataForm form) {
  JsonObject body;
  body.text("state", done.failed ? "failed" : "done");
  body.raw(done.failed ? "failure" : "result", data_json(done.result, form));
  body.time("completed_at", done.completed);
  Response response = replayed(json_response(200, body.finish()));
  response.notes.original = done.completed;
  response.notes.duplicates = 1;
  return response;
}

Response busy_response(const Busy& busy, Time now) {
  Response response = Problem(Code::busy, "another holder has this claim")
                          .text("owner", busy.owner)
                          .time("lease_until", busy.lease_until)
                          .retry_after(busy.lease_until - now)
                          .finish();
  response.notes.original = busy.claimed;
  return response;
}

Response unguarded_response() {
  Response response = json_response(201, JsonObject().text("state", "unguarded").finish());
  response.notes.outcome = Outcome::unguarded;
  return response;
}

Response response_of(const ClaimOutcome& outcome, Time now, DataForm form) {
  if (const auto* claimed = std::get_if<Claimed>(&outcome)) return claimed_response(*claimed);
  if (const auto* done = std::get_if<Done>(&outcome)) return done_response(*done, form);
  if (const auto* busy = std::get_if<Busy>(&outcome)) return busy_response(*busy, now);
  if (std::holds_alternative<Mismatch>(outcome)) {
    return problem(Code::mismatch, "the claim was made with another payload");
  }
  return unguarded_response();
}

Plan<Response> taken(Key key, Taking taking, IfStoreDown policy, HotSpot spot, DataForm form) {
  Result<ClaimOutcome> outcome =
      co_await attempt(claims::take_within(key, taking.request, taking.wait));
  outcome = claims::or_proceed(std::move(outcome), policy);
  if (!outcome) co_return std::unexpected(std::move(outcome.error()));
  const Time now = co_await store_now();
  if (std::holds_alternative<Busy>(*outcome)) spot.conflicted(now);
  Response response = response_of(*outcome, now, form);
  response.notes.checked = 1;
  response.notes.waited = taking.wait > Duration::zero();
  co_return response;
}

Plan<Response> fenced(HotSpot spot) {
  const Time now = co_await store_now();
  spot.conflicted(now);
  co_return problem(Code::fenced, "another claim stands, or none");
}

Plan<Response> renewed(Key key, Ticket ticket, Duration lease, HotSpot spot) {
  const RenewOutcome outcome = co_await claims::renew(key, ticket, lease);
  if (!std::holds_alternative<Renewed>(outcome)) co_return co_await fenced(std::move(spot));
  co_return json_response(
      200, JsonObject().time("lease_until", std::get<Renewed>(outcome).lease_until).finish());
}

Plan<Response> settled(SettleOutcome outcome, std::string_view state, HotSpot spot) {
  if (std::holds_alternative<Fenced>(outcome)) co_return co_await fenced(std::move(spot));
  if (std::holds_alternative<Mismatch>(outcome)) {
    co_return problem(Code::mismatch, "the claim has another outcome already");
  }
  Response response = json_response(200, JsonObject().text("state", state).finish());
  if (std::get<Settled>(outcome).replayed) co_return replayed(std::move(response));
  (state == "free" ? response.notes.removed : response.notes.marked) = 1;
  co_return response;
}

Plan<Response> completed(Key key, Ticket ticket, Bytes result, HotSpot spot) {
  const SettleOutcome outcome = co_await claims::complete(key, ticket, result);
  co_return co_await settled(outcome, "done", std::move(spot));
}

Plan<Response> released(Key key, Ticket ticket, Bytes failure, Release how, HotSpot spot) {
  const SettleOutcome outcome = co_await claims::release(key, ticket, failure, how);
  const std::string_view state = how == Release::final ? "failed" : "free";
  co_return co_await settled(outcome, state, std::move(spot));
}

std::string_view name_of(ClaimState::Kind kind) {
  switch (kind) {
    case ClaimState::Kind::busy: return "busy";
    case ClaimState::Kind::done: return "done";
    case ClaimState::Kind::failed: return "failed";
  }
  return "";
}

std::string record_of(std::string_view name, const ClaimState& state, DataForm form) {
  JsonObject out;
  out.text("key", name).text("state", name_of(state.kind)).text("owner", state.owner);
  out.integer("fence", state.fence).integer("attempt", state.attempt);
  out.time("claimed_at", state.claimed);
  if (state.kind == ClaimState::Kind::busy) {
    out.time("lease_until", state.lease_until);
  } else {
    out.time("completed_at", state.completed).time("kept_until", state.kept_until);
    const bool failed = state.kind == ClaimState::Kind::failed;
    out.raw(failed ? "failure" : "result", data_json(state.result, form));
  }
  return out.finish();
}

Plan<Response> shown(Key key, std::string name, DataForm form) {
  const std::optional<ClaimState> state = co_await claims::show(key);
  if (!state) co_return problem(Code::not_found, "there is no such claim");
  co_return json_response(200, record_of(name, *state, form));
}

Plan<Response> forgotten(Key key) {
  const bool found = co_await claims::forget(key);
  co_return Response{204, {}, "", {.removed = found ? 1U : 0U}};
}

Plan<Response> listed(std::string name_space, std::optional<ClaimState::Kind> kind,
                      std::string cursor, std::size_t limit, DataForm form) {
  const claims::ClaimPage page = co_await claims::list(name_space, kind, cursor, limit);
  JsonObject body;
  body.raw("claims", json_array(page.claims, [form](const claims::ListedClaim& claim) {
             return record_of(claim.name, claim.state, form);
           }));
  if (page.cursor.empty()) {
    body.raw("cursor", "null");
  } else {
    body.text("cursor", armored(page.cursor));
  }
  co_return json_response(200, body.finish());
}

void note_seen(Notes& notes, const std::vector<bool>& first, bool guarded) {
  notes.checked = static_cast<std::uint32_t>(first.size());
  if (!guarded) {
    notes.outcome = Outcome::unguarded;
    return;
  }
  notes.marked = static_cast<std::uint32_t>(std::ranges::count(first, true));
  notes.duplicates = notes.checked - notes.marked;
}

Plan<Response> seen(std::vector<Key> keys, Duration ttl, std::string request, IfStoreDown policy) {
  const std::size_t count = keys.size();
  Result<claims::Seen> seen =
      co_await attempt(claims::seen(std::move(keys), ttl, std::move(request)));
  const bool guarded = seen.has_value();
  seen = claims::or_proceed(std::move(seen), count, policy);
  if (!seen) co_return std::unexpected(std::move(seen.error()));
  const std::vector<bool>& first = seen->first;
  std::string body = R"({"first":[)";
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (i > 0) body += ',';
    body += first[i] ? "true" : "false";
  }
  body += "]}";
  Response response = json_response(200, std::move(body));
  note_seen(response.notes, first, guarded);
  co_return seen->repeated ? replayed(std::move(response)) : std::move(response);
}

Result<std::optional<ClaimState::Kind>> kind_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  for (const auto kind :
       {ClaimState::Kind::busy, ClaimState::Kind::done, ClaimState::Kind::failed}) {
    if (*text == name_of(kind)) return kind;
  }
  return failure(ErrorCode::invalid, "state is busy, done or failed");
}

// A ticket and the rest of the fields of a request by its holder.
Result<Ticket> ticket_in(Fields& fields) {
  fields.require("ticket");
  const std::optional<std::string> text = fields.text("ticket");
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return Ticket{*text};
}

// What is not given is null to those who keep JSON.
Bytes stored(std::optional<Bytes> given, DataForm form) {
  return std::move(given).value_or(form == DataForm::json ? "null" : "");
}

}  // namespace

Answer take_claim(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  Result<Taking> taking = taking_of(fields, call.form);
  if (!taking) return problem(taking.error());
  const Duration wait = taking->wait;
  Answer answer = taken(keys::claim(call.name_space, call.name), std::move(*taking),
                        call.service.options().if_store_down, call.hot_spot("claims"), call.form);
  answer.waits = wait;
  return answer;
}

Answer renew_claim(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  const Duration lease = fields.duration("lease").value_or(kDefaultLease);
  Result<Ticket> ticket = ticket_in(fields);
  if (!ticket) return problem(ticket.error());
  return renewed(keys::claim(call.name_space, call.name), std::move(*ticket), lease,
                 call.hot_spot("claims"));
}

Answer complete_claim(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  Bytes result = stored(take_data(fields, "result", call.form), call.form);
  Result<Ticket> ticket = ticket_in(fields);
  if (!ticket) return problem(ticket.error());
  return completed(keys::claim(call.name_space, call.name), std::move(*ticket), std::move(result),
                   call.hot_spot("claims"));
}

Answer release_claim(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  Bytes failure = stored(take_data(fields, "failure", call.form), call.form);
  const bool final = fields.boolean("final").value_or(false);
  Result<Ticket> ticket = ticket_in(fields);
  if (!ticket) return problem(ticket.error());
  return released(keys::claim(call.name_space, call.name), std::move(*ticket), std::move(failure),
                  final ? Release::final : Release::retryable, call.hot_spot("claims"));
}

Answer show_claim(Call& call) {
  return shown(keys::claim(call.name_space, call.name), call.name, call.form);
}

Answer forget_claim(Call& call) { return forgotten(keys::claim(call.name_space, call.name)); }

Answer list_claims(Call& call) {
  const auto kind = kind_of(call.parameter("state"));
  if (!kind) return problem(kind.error());
  const auto limit = call.integer("limit");
  if (!limit) return problem(limit.error());
  const std::int64_t most = limit->value_or(1'000);
  if (most < 1 || most > 10'000) return problem(Code::invalid, "limit is 1 to 10000");
  const auto cursor = unarmored(call.parameter("cursor").value_or(""));
  if (!cursor) return problem(Code::invalid, "not a cursor");
  return listed(call.name_space, *kind, *cursor, static_cast<std::size_t>(most), call.form);
}

Answer mark_seen(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  fields.require("ids");
  const auto ids = fields.texts("ids");
  const Duration ttl = fields.duration("ttl").value_or(kDefaultTtl);
  std::string request = fields.text("request").value_or("");
  if (Result<void> ok = fields.finish(); !ok) return problem(ok.error());
  if (ids->empty() || ids->size() > kMaxIds) return problem(Code::invalid, "ids are 1 to 10000");
  std::vector<Key> keys;
  keys.reserve(ids->size());
  for (const std::string& id : *ids) {
    if (Result<void> ok = keys::check_name(id); !ok) return problem(ok.error());
    keys.push_back(keys::claim(call.name_space, id));
  }
  return seen(std::move(keys), ttl, std::move(request), call.service.options().if_store_down);
}

}  // namespace once::api
