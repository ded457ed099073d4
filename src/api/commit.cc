// POST /v1/commit: several primitives' work as one commit.
#include "api/call.h"
#include "api/conditions.h"
#include "api/effects_text.h"
#include "api/tally_text.h"
#include "once/effects.h"

namespace once::api {
namespace {

using documents::PreconditionFailed;
using effects::Refused;

void take_claim(Fields& fields, effects::Request& request, DataForm form) {
  const std::optional<Json> claim = fields.object("claim");
  if (!claim) return;
  Fields inner(*claim, "claim");
  inner.require("key");
  inner.require("ticket");
  request.claim = {inner.text("key").value_or(""), Ticket{inner.text("ticket").value_or("")}};
  std::optional<Bytes> result = take_data(inner, "result", form);
  request.effects.result(std::move(result).value_or(form == DataForm::json ? "null" : ""));
  fields.absorb(std::move(inner));
}

Result<effects::Request> request_of(const Call& call) {
  const Result<Json> body = call.json();
  if (!body) return std::unexpected(body.error());
  Fields fields(*body);
  effects::Request request{.name_space = call.name_space};
  const std::optional<std::string> id = fields.text("id");
  if (id && id->empty()) fields.complain("id", "is empty");
  request.id = id.value_or("");
  take_claim(fields, request, call.form);
  take_effects(fields, request.effects, call.form);
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return request;
}

std::string appended_json(const Appended& appended) {
  return JsonObject().integer("first", appended.first).integer("last", appended.last).finish();
}

// One answer for each part that was asked for.
Response made_response(const effects::Request& request, const effects::Made& made, DataForm form) {
  JsonObject body;
  if (request.claim) body.raw("claim", R"({"state":"done"})");
  if (!made.appended.empty()) body.raw("logs", json_array(made.appended, appended_json));
  if (!made.etags.empty()) {
    body.raw("docs", json_array(made.etags, [](const std::string& etag) {
               return JsonObject().text("etag", etag).finish();
             }));
  }
  if (!made.tallied.empty()) {
    std::size_t next = 0;
    body.raw("tallies", json_array(made.tallied, [&](const Tallied& tallied) {
               return merged_json(request.effects.tallies()[next++].request, tallied.value, form);
             }));
  }
  Response response = json_response(200, body.finish());
  if (made.replayed) return replayed(std::move(response));
  response.notes.marked = request.claim ? 1 : 0;
  return response;
}

std::string part_name(const Refused& refused) {
  switch (refused.part) {
    case Refused::Part::claim: return "claim";
    case Refused::Part::id: return "id";
    case Refused::Part::document: return "docs[" + std::to_string(refused.index) + "]";
    case Refused::Part::tally: return "tallies[" + std::to_string(refused.index) + "]";
  }
  return "";
}

Problem reason(const Refused& refused) {
  if (std::holds_alternative<Fenced>(refused.why)) {
    return {Code::fenced, "another claim stands, or none"};
  }
  if (const auto* failed = std::get_if<PreconditionFailed>(&refused.why)) {
    Problem answer(Code::precondition_failed, "the document is not as the commit wants it");
    if (failed->etag) answer.header("ETag", quoted_etag(*failed->etag));
    return answer;
  }
  if (const auto* other = std::get_if<OtherTally>(&refused.why)) return other_tally(*other);
  return {Code::mismatch, "it was used for something else before"};
}

// The key on which the commit met another, if it is one.
std::string conflict_of(const effects::Request& request, const Refused& refused) {
  if (std::holds_alternative<Fenced>(refused.why)) return "claims/" + request.claim->name;
  if (!std::holds_alternative<PreconditionFailed>(refused.why)) return "";
  return "docs/" + request.effects.documents()[refused.index].name;
}

Plan<Response> committed(effects::Request request, HotKeys& hot, DataForm form) {
  const effects::Outcome outcome = co_await effects::commit(request);
  if (const auto* made = std::get_if<effects::Made>(&outcome)) {
    co_return made_response(request, *made, form);
  }
  const auto& refused = std::get<Refused>(outcome);
  const Time now = co_await store_now();
  const std::string key = conflict_of(request, refused);
  if (!key.empty()) hot.conflicted(request.name_space, key, now);
  co_return reason(refused).text("part", part_name(refused)).finish();
}

}  // namespace

Answer commit_effects(Call& call) {
  Result<effects::Request> request = request_of(call);
  if (!request) return problem(request.error());
  return committed(std::move(*request), call.service.hot(), call.form);
}

}  // namespace once::api
