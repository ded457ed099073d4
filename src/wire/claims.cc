#include "wire/claims.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/encoding.h"
#include "wire/problem.h"
#include "wire/text.h"

namespace once::wire {
namespace {

constexpr std::array<std::pair<ClaimState::Kind, std::string_view>, 6> kKinds = {
    {{ClaimState::Kind::busy, "busy"},
     {ClaimState::Kind::abandoned, "abandoned"},
     {ClaimState::Kind::done, "done"},
     {ClaimState::Kind::failed, "failed"},
     {ClaimState::Kind::free, "free"},
     {ClaimState::Kind::corrupt, "corrupt"}}};

// A claim may be completed or released long before its lease ends, so a caller comes back sooner.
constexpr Duration kLongestRetryAfter = std::chrono::seconds(5);

constexpr std::string_view kStates = "is busy, abandoned, done, failed, free or corrupt";

constexpr std::string_view kFound = "Once-Found";

std::string_view kind_name(ClaimState::Kind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "";
}

// A result or failure. A missing one is stored as JSON null.
Bytes take_outcome(Fields& fields, std::string_view name, DataForm form) {
  return take_data(fields, name, form).value_or(form == DataForm::json ? "null" : "");
}

// A text as it is. Any other JSON in a form that does not depend on how it was written; it begins
// as hardly any text does, so that the two are not taken for each other.
std::optional<Bytes> take_payload(Fields& fields, DataForm form) {
  if (form == DataForm::exact) return take_text(fields, "payload", form);
  const std::optional<Json> value = fields.any("payload");
  if (!value || value->is_null()) return std::nullopt;
  std::string_view text;
  if (value->get(text) == simdjson::SUCCESS) return Bytes(text);
  return std::string("json\0", 5) + canonical_json(*value);
}

Ticket take_ticket(Fields& fields) {
  fields.require("ticket");
  return Ticket{fields.text("ticket").value_or("")};
}

// Decodes a body whose fields `take` takes.
template <class Request, class Take>
Result<Request> decoded(std::string_view body, Take take) {
  const Result<Json> json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  Fields fields(*json);
  Request request;
  take(fields, request);
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return request;
}

std::string earlier_json(const EarlierFailure& earlier, DataForm form) {
  return JsonObject()
      .raw("failure", data_json(earlier.failure, form))
      .time("failed_at", earlier.failed)
      .integer("attempt", earlier.attempt)
      .finish();
}

Response claimed_response(const Claimed& claimed, DataForm form) {
  JsonObject body;
  body.text("state", "claimed").text("ticket", claimed.ticket.text);
  body.integer("fence", claimed.fence).integer("attempt", claimed.attempt);
  body.time("lease_until", claimed.lease_until);
  if (claimed.previous) body.raw("previous", earlier_json(*claimed.previous, form));
  Response response = json_response(201, body.finish());
  return claimed.repeated ? replayed(std::move(response)) : response;
}

Response done_response(const Done& done, DataForm form) {
  JsonObject body;
  body.text("state", done.failed ? "failed" : "done");
  body.raw(done.failed ? "failure" : "result", data_json(done.result, form));
  body.time("completed_at", done.completed);
  return replayed(json_response(200, body.finish()));
}

Response busy_response(const Busy& busy, Time now) {
  return Problem(Code::busy, "another holder has this claim")
      .text("owner", busy.owner)
      .time("lease_until", busy.lease_until)
      .retry_after(std::min(busy.lease_until - now, kLongestRetryAfter))
      .finish();
}

EarlierFailure read_earlier(JsonReader body, DataForm form, bool& readable) {
  EarlierFailure earlier;
  earlier.failure = read_data(body, "failure", form);
  earlier.failed = body.time("failed_at");
  earlier.attempt = body.integer("attempt");
  readable = body.readable();
  return earlier;
}

Claimed read_claimed(JsonReader& body, const Response& response, DataForm form) {
  Claimed claimed;
  claimed.ticket.text = body.text("ticket");
  claimed.fence = body.integer("fence");
  claimed.attempt = body.integer("attempt");
  claimed.lease_until = body.time("lease_until");
  claimed.repeated = is_replay(response);
  if (const std::optional<Json> previous = body.any("previous")) {
    bool readable = true;
    claimed.previous = read_earlier(JsonReader(*previous), form, readable);
    if (!readable) body.fail();
  }
  return claimed;
}

ClaimOutcome read_outcome(JsonReader& body, const Response& response, DataForm form) {
  const std::string state = body.text("state");
  if (state == "claimed") return read_claimed(body, response, form);
  if (state == "unguarded") return Unguarded{};
  const bool failed = state == "failed";
  if (!failed && state != "done") body.fail();
  Done done{.failed = failed};
  done.result = read_data(body, failed ? "failure" : "result", form);
  done.completed = body.time("completed_at");
  return done;
}

bool is_unfinished(ClaimState::Kind kind) {
  return kind == ClaimState::Kind::busy || kind == ClaimState::Kind::abandoned;
}

std::string_view outcome_name(ClaimState::Kind kind) {
  return kind == ClaimState::Kind::done ? "result" : "failure";
}

std::string record_json(std::string_view name, const ClaimState& state, DataForm form) {
  JsonObject out;
  out.text("key", name).text("state", kind_name(state.kind));
  if (state.kind == ClaimState::Kind::corrupt) return out.finish();
  out.text("owner", state.owner);
  out.integer("fence", state.fence).integer("attempt", state.attempt);
  out.time("claimed_at", state.claimed);
  if (is_unfinished(state.kind)) return out.time("lease_until", state.lease_until).finish();
  const bool free = state.kind == ClaimState::Kind::free;
  out.time(free ? "failed_at" : "completed_at", state.completed);
  out.time("kept_until", state.kept_until);
  out.raw(outcome_name(state.kind), data_json(state.result, form));
  return out.finish();
}

ClaimState read_record(JsonReader& body, DataForm form) {
  ClaimState state;
  const Result<ClaimState::Kind> kind = decode_claim_kind(body.text("state"));
  if (!kind) body.fail();
  state.kind = kind.value_or(ClaimState::Kind::busy);
  if (state.kind == ClaimState::Kind::corrupt) return state;
  state.owner = body.text("owner");
  state.fence = body.integer("fence");
  state.attempt = body.integer("attempt");
  state.claimed = body.time("claimed_at");
  if (is_unfinished(state.kind)) {
    state.lease_until = body.time("lease_until");
    return state;
  }
  const bool free = state.kind == ClaimState::Kind::free;
  state.completed = body.time(free ? "failed_at" : "completed_at");
  state.kept_until = body.time("kept_until");
  state.result = read_data(body, outcome_name(state.kind), form);
  return state;
}

}  // namespace

std::string encode(const TakeRequest& request, DataForm form) {
  const ClaimRequest& claim = request.claim;
  JsonObject body;
  body.text("owner", claim.owner).text("request", claim.request);
  body.duration("lease", claim.lease).duration("ttl", claim.ttl);
  if (claim.payload) body.raw("payload", text_json(*claim.payload, form));
  if (request.wait > Duration::zero()) body.duration("wait", request.wait);
  if (claim.keep_abandoned != kKeepAbandoned) {
    body.duration("keep_abandoned", claim.keep_abandoned);
  }
  return body.finish();
}

Result<TakeRequest> decode_take_request(std::string_view body, DataForm form) {
  return decoded<TakeRequest>(body, [form](Fields& fields, TakeRequest& request) {
    ClaimRequest& claim = request.claim;
    claim.owner = fields.text("owner").value_or("");
    claim.request = fields.text("request").value_or("");
    claim.payload = take_payload(fields, form);
    claim.lease = fields.duration("lease").value_or(kDefaultLease);
    claim.ttl = fields.duration("ttl").value_or(kDefaultTtl);
    request.wait = fields.duration("wait").value_or(Duration::zero());
    claim.keep_abandoned = fields.duration("keep_abandoned").value_or(kKeepAbandoned);
  });
}

std::string encode(const RenewRequest& request) {
  return JsonObject().text("ticket", request.ticket.text).duration("lease", request.lease).finish();
}

Result<RenewRequest> decode_renew_request(std::string_view body) {
  return decoded<RenewRequest>(body, [](Fields& fields, RenewRequest& request) {
    request.lease = fields.duration("lease").value_or(kDefaultLease);
    request.ticket = take_ticket(fields);
  });
}

std::string encode(const CompleteRequest& request, DataForm form) {
  return JsonObject()
      .text("ticket", request.ticket.text)
      .raw("result", data_json(request.result, form))
      .finish();
}

Result<CompleteRequest> decode_complete_request(std::string_view body, DataForm form) {
  return decoded<CompleteRequest>(body, [form](Fields& fields, CompleteRequest& request) {
    request.result = take_outcome(fields, "result", form);
    request.ticket = take_ticket(fields);
  });
}

std::string encode(const ReleaseRequest& request, DataForm form) {
  JsonObject body;
  body.text("ticket", request.ticket.text);
  if (!request.failure.empty()) body.raw("failure", data_json(request.failure, form));
  return body.boolean("final", request.how == Release::final).finish();
}

Result<ReleaseRequest> decode_release_request(std::string_view body, DataForm form) {
  return decoded<ReleaseRequest>(body, [form](Fields& fields, ReleaseRequest& request) {
    request.failure = take_outcome(fields, "failure", form);
    const bool final = fields.boolean("final").value_or(false);
    request.how = final ? Release::final : Release::retryable;
    const bool none = form == DataForm::json && request.failure == "null";
    if (!final && none) request.failure.clear();
    request.ticket = take_ticket(fields);
  });
}

std::string encode(const SeenRequest& request) {
  return JsonObject()
      .raw("ids", json_array(request.ids, json_text))
      .duration("ttl", request.ttl)
      .text("request", request.request)
      .finish();
}

Result<SeenRequest> decode_seen_request(std::string_view body) {
  return decoded<SeenRequest>(body, [](Fields& fields, SeenRequest& request) {
    fields.require("ids");
    request.ids = fields.texts("ids").value_or(std::vector<std::string>());
    request.ttl = fields.duration("ttl").value_or(kDefaultTtl);
    request.request = fields.text("request").value_or("");
  });
}

std::string encode(const BulkRequest& request) {
  const claims::ClaimFilter& filter = request.filter;
  JsonObject body;
  if (!filter.prefix.empty()) body.text("prefix", filter.prefix);
  if (filter.kind) body.text("state", kind_name(*filter.kind));
  if (!filter.owner.empty()) body.text("owner", filter.owner);
  if (filter.older_than) body.duration("older_than", *filter.older_than);
  if (!request.name.empty()) body.text("key", request.name);
  body.integer("limit", static_cast<std::int64_t>(request.limit));
  body.boolean("dry_run", request.dry_run);
  if (!request.cursor.empty()) body.text("cursor", base64url_encode(request.cursor));
  return body.finish();
}

Result<BulkRequest> decode_bulk_request(std::string_view body) {
  return decoded<BulkRequest>(body, [](Fields& fields, BulkRequest& request) {
    claims::ClaimFilter& filter = request.filter;
    filter.prefix = fields.text("prefix").value_or("");
    filter.owner = fields.text("owner").value_or("");
    filter.older_than = fields.duration("older_than");
    if (const auto state = fields.text("state")) {
      const Result<ClaimState::Kind> kind = decode_claim_kind(*state);
      if (!kind) fields.complain("state", kStates);
      if (kind) filter.kind = *kind;
    }
    request.name = fields.text("key").value_or("");
    request.limit = take_limit(fields);
    request.dry_run = fields.boolean("dry_run").value_or(false);
    request.cursor = take_cursor(fields);
  });
}

std::string target_of(const ClaimListRequest& request) {
  const claims::ClaimFilter& filter = request.filter;
  std::string target =
      "/v1/claims?" + query_of(ListingRequest{filter.prefix, request.cursor, request.limit});
  if (filter.kind) target.append("&state=").append(kind_name(*filter.kind));
  if (!filter.owner.empty()) target.append("&owner=").append(percent_encode(filter.owner));
  if (filter.older_than)
    target.append("&older_than=").append(std::to_string(filter.older_than->count())).append("ms");
  return target;
}

Result<ClaimState::Kind> decode_claim_kind(std::string_view name) {
  for (const auto& [kind, known] : kKinds) {
    if (known == name) return kind;
  }
  return failure(ErrorCode::invalid, std::string("state ").append(kStates));
}

Response encode(const ClaimOutcome& outcome, Time now, DataForm form) {
  if (const auto* claimed = std::get_if<Claimed>(&outcome)) return claimed_response(*claimed, form);
  if (const auto* done = std::get_if<Done>(&outcome)) return done_response(*done, form);
  if (const auto* busy = std::get_if<Busy>(&outcome)) return busy_response(*busy, now);
  if (std::holds_alternative<Mismatch>(outcome)) {
    return problem(Code::mismatch, "the claim was made with another payload");
  }
  return json_response(201, JsonObject().text("state", "unguarded").finish());
}

Result<ClaimOutcome> decode_claim_outcome(const Response& response, DataForm form) {
  const std::optional<Code> code = problem_code(response);
  if (code == Code::mismatch) return Mismatch{};
  if (code && code != Code::busy) return unreadable_answer();
  JsonReader body(response.body);
  ClaimOutcome outcome = Unguarded{};
  if (code) {
    Busy busy;
    busy.owner = body.text("owner");
    busy.lease_until = body.time("lease_until");
    outcome = std::move(busy);
  } else {
    outcome = read_outcome(body, response, form);
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return outcome;
}

Response fenced() { return problem(Code::fenced, "another claim stands, or none"); }

Response encode(const RenewOutcome& outcome) {
  const auto* const renewed = std::get_if<Renewed>(&outcome);
  if (renewed == nullptr) return fenced();
  return json_response(200, JsonObject().time("lease_until", renewed->lease_until).finish());
}

Result<RenewOutcome> decode_renew_outcome(const Response& response) {
  if (problem_code(response) == Code::fenced) return Fenced{};
  JsonReader body(response.body);
  const Renewed renewed{body.time("lease_until")};
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return renewed;
}

Response encode(const SettleOutcome& outcome, std::string_view settled) {
  if (std::holds_alternative<Fenced>(outcome)) return fenced();
  if (std::holds_alternative<Mismatch>(outcome)) {
    return problem(Code::mismatch, "the claim has another outcome already");
  }
  Response response = json_response(200, JsonObject().text("state", settled).finish());
  return std::get<Settled>(outcome).replayed ? replayed(std::move(response)) : response;
}

Result<SettleOutcome> decode_settle_outcome(const Response& response) {
  const std::optional<Code> code = problem_code(response);
  if (code == Code::fenced) return Fenced{};
  if (code == Code::mismatch) return Mismatch{};
  if (response.status != 200) return unreadable_answer();
  return Settled{is_replay(response)};
}

Response encode(std::string_view name, const ClaimState& state, DataForm form) {
  return json_response(200, record_json(name, state, form));
}

Response encode_forgotten(bool found, DataForm form) {
  Response response{204, {}, ""};
  if (!found && form == DataForm::exact) response.headers.add(std::string(kFound), "false");
  return response;
}

bool decode_forgotten(const Response& response) { return response.headers.find(kFound) != "false"; }

Response not_seen() { return problem(Code::not_found, "this id was not seen"); }

Response no_claim() { return problem(Code::not_found, "there is no such claim"); }

Result<std::optional<ClaimState>> decode_claim_state(const Response& response, DataForm form) {
  if (problem_code(response) == Code::not_found) return std::nullopt;
  JsonReader body(response.body);
  ClaimState state = read_record(body, form);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return state;
}

Response encode(const claims::ClaimPage& page, DataForm form) {
  JsonObject body;
  body.raw("claims", json_array(page.claims, [form](const claims::ListedClaim& claim) {
             return record_json(claim.name, claim.state, form);
           }));
  add_cursor(body, page.cursor);
  return json_response(200, body.finish());
}

Result<claims::ClaimPage> decode_claim_page(const Response& response, DataForm form) {
  JsonReader body(response.body);
  claims::ClaimPage page;
  body.each("claims", [&](JsonReader& one) {
    std::string name = one.text("key");
    page.claims.push_back({std::move(name), read_record(one, form)});
  });
  page.cursor = read_cursor(body);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return page;
}

Response encode(const claims::Seen& seen) {
  JsonObject body;
  body.raw("first", json_array(seen.first, [](bool one) { return one ? "true" : "false"; }));
  if (!seen.at.empty())
    body.raw("at", json_array(seen.at, [](Time at) { return json_text(format_time(at)); }));
  Response response = json_response(200, body.finish());
  return seen.repeated ? replayed(std::move(response)) : response;
}

Result<claims::Seen> decode_seen(const Response& response, std::size_t ids) {
  JsonReader body(response.body);
  claims::Seen seen{.repeated = is_replay(response)};
  for (const Json element : body.array("first")) {
    bool first = false;
    if (element.get(first) != simdjson::SUCCESS) body.fail();
    seen.first.push_back(first);
  }
  if (seen.first.size() != ids) body.fail();
  if (body.any("at")) {
    for (const Json element : body.array("at")) {
      std::string_view text;
      const bool is_text = element.get(text) == simdjson::SUCCESS;
      const std::optional<Time> at = is_text ? parse_time(text) : std::nullopt;
      if (!at) body.fail();
      seen.at.push_back(at.value_or(Time{}));
    }
    if (seen.at.size() != ids) body.fail();
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return seen;
}

Response encode(std::string_view id, const claims::SeenMark& mark) {
  return json_response(
      200, JsonObject().text("id", id).time("at", mark.at).time("until", mark.until).finish());
}

Result<std::optional<claims::SeenMark>> decode_seen_mark(const Response& response) {
  if (problem_code(response) == Code::not_found) return std::nullopt;
  JsonReader body(response.body);
  const claims::SeenMark mark{body.time("at"), body.time("until")};
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return mark;
}

Response encode(const claims::BulkOutcome& outcome, std::string_view counted) {
  JsonObject body;
  body.integer(counted, static_cast<std::int64_t>(outcome.count));
  add_cursor(body, outcome.cursor);
  return json_response(200, body.finish());
}

Result<claims::BulkOutcome> decode_bulk_outcome(const Response& response,
                                                std::string_view counted) {
  JsonReader body(response.body);
  claims::BulkOutcome outcome;
  outcome.count = static_cast<std::size_t>(body.integer(counted));
  outcome.cursor = read_cursor(body);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return outcome;
}

}  // namespace once::wire
