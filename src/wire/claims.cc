#include "wire/claims.h"

#include <array>
#include <utility>

#include "base/encoding.h"
#include "wire/problem.h"
#include "wire/text.h"

namespace once::wire {
namespace {

constexpr std::array<std::pair<ClaimState::Kind, std::string_view>, 4> kKinds = {
    {{ClaimState::Kind::busy, "busy"},
     {ClaimState::Kind::done, "done"},
     {ClaimState::Kind::failed, "failed"},
     {ClaimState::Kind::corrupt, "corrupt"}}};

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

Response claimed_response(const Claimed& claimed) {
  Response response = json_response(201, JsonObject()
                                             .text("state", "claimed")
                                             .text("ticket", claimed.ticket.text)
                                             .integer("fence", claimed.fence)
                                             .integer("attempt", claimed.attempt)
                                             .time("lease_until", claimed.lease_until)
                                             .finish());
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
      .retry_after(busy.lease_until - now)
      .finish();
}

Claimed read_claimed(JsonReader& body, const Response& response) {
  Claimed claimed;
  claimed.ticket.text = body.text("ticket");
  claimed.fence = body.integer("fence");
  claimed.attempt = body.integer("attempt");
  claimed.lease_until = body.time("lease_until");
  claimed.repeated = is_replay(response);
  return claimed;
}

ClaimOutcome read_outcome(JsonReader& body, const Response& response, DataForm form) {
  const std::string state = body.text("state");
  if (state == "claimed") return read_claimed(body, response);
  if (state == "unguarded") return Unguarded{};
  const bool failed = state == "failed";
  if (!failed && state != "done") body.fail();
  Done done{.failed = failed};
  done.result = read_data(body, failed ? "failure" : "result", form);
  done.completed = body.time("completed_at");
  return done;
}

std::string record_json(std::string_view name, const ClaimState& state, DataForm form) {
  JsonObject out;
  out.text("key", name).text("state", kind_name(state.kind));
  if (state.kind == ClaimState::Kind::corrupt) return out.finish();
  out.text("owner", state.owner);
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
  if (state.kind == ClaimState::Kind::busy) {
    state.lease_until = body.time("lease_until");
    return state;
  }
  const bool failed = state.kind == ClaimState::Kind::failed;
  state.completed = body.time("completed_at");
  state.kept_until = body.time("kept_until");
  state.result = read_data(body, failed ? "failure" : "result", form);
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
  return body.finish();
}

Result<TakeRequest> decode_take_request(std::string_view body, DataForm form) {
  return decoded<TakeRequest>(body, [form](Fields& fields, TakeRequest& request) {
    ClaimRequest& claim = request.claim;
    claim.owner = fields.text("owner").value_or("");
    claim.request = fields.text("request").value_or("");
    claim.payload = take_text(fields, "payload", form);
    claim.lease = fields.duration("lease").value_or(kDefaultLease);
    claim.ttl = fields.duration("ttl").value_or(kDefaultTtl);
    request.wait = fields.duration("wait").value_or(Duration::zero());
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
  return JsonObject()
      .text("ticket", request.ticket.text)
      .raw("failure", data_json(request.failure, form))
      .boolean("final", request.how == Release::final)
      .finish();
}

Result<ReleaseRequest> decode_release_request(std::string_view body, DataForm form) {
  return decoded<ReleaseRequest>(body, [form](Fields& fields, ReleaseRequest& request) {
    request.failure = take_outcome(fields, "failure", form);
    const bool final = fields.boolean("final").value_or(false);
    request.how = final ? Release::final : Release::retryable;
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

std::string target_of(const ClaimListRequest& request) {
  std::string target = "/v1/claims?limit=" + std::to_string(request.limit);
  if (request.kind) target.append("&state=").append(kind_name(*request.kind));
  if (!request.cursor.empty()) target.append("&cursor=").append(base64url_encode(request.cursor));
  return target;
}

Result<ClaimState::Kind> decode_claim_kind(std::string_view name) {
  for (const auto& [kind, known] : kKinds) {
    if (known == name) return kind;
  }
  return failure(ErrorCode::invalid, "state is busy, done or failed");
}

Result<std::string> decode_cursor(std::string_view text) {
  std::optional<Bytes> cursor = base64url_decode(text);
  if (cursor) return std::move(*cursor);
  return failure(ErrorCode::invalid, "not a cursor");
}

Response encode(const ClaimOutcome& outcome, Time now, DataForm form) {
  if (const auto* claimed = std::get_if<Claimed>(&outcome)) return claimed_response(*claimed);
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
  if (page.cursor.empty()) {
    body.raw("cursor", "null");
  } else {
    body.text("cursor", base64url_encode(page.cursor));
  }
  return json_response(200, body.finish());
}

Result<claims::ClaimPage> decode_claim_page(const Response& response, DataForm form) {
  JsonReader body(response.body);
  claims::ClaimPage page;
  body.each("claims", [&](JsonReader& one) {
    std::string name = one.text("key");
    page.claims.push_back({std::move(name), read_record(one, form)});
  });
  if (body.any("cursor")) {
    const Result<std::string> cursor = decode_cursor(body.text("cursor"));
    if (!cursor) body.fail();
    page.cursor = cursor.value_or("");
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return page;
}

Response encode(const claims::Seen& seen) {
  std::string first = json_array(seen.first, [](bool one) { return one ? "true" : "false"; });
  Response response = json_response(200, JsonObject().raw("first", first).finish());
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
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return seen;
}

}  // namespace once::wire
