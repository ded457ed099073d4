#include "wire/effects.h"

#include <utility>

#include "primitives/keys.h"
#include "wire/claims.h"
#include "wire/conditions.h"
#include "wire/documents.h"
#include "wire/log.h"
#include "wire/patch.h"
#include "wire/problem.h"
#include "wire/tallies.h"
#include "wire/text.h"

namespace once::wire {
namespace {

using documents::IfAbsent;
using documents::IfMatch;
using documents::PreconditionFailed;
using effects::Made;
using effects::Refused;

constexpr std::string_view kDocumentType = "application/json";

// Calls `take` with the fields of each element of an array, if it is there.
template <class Take>
void take_each(Fields& fields, std::string_view name, Take take) {
  const std::vector<Json> values = fields.array(name).value_or(std::vector<Json>());
  for (std::size_t i = 0; i < values.size(); ++i) {
    Fields inner = fields.element(name, i, values[i]);
    take(inner);
    fields.absorb(std::move(inner));
  }
}

std::string take_name(Fields& fields, std::string_view name) {
  fields.require(name);
  return fields.text(name).value_or("");
}

// A patch or a removal. It takes an ETag, or no condition.
void take_change(Fields& fields, std::string key, const std::optional<std::string>& patch,
                 Effects& effects) {
  std::optional<std::string> etag = fields.text("if_match");
  if (etag) etag = std::string(unquoted(*etag));
  if (!patch) {
    effects.remove(std::move(key), std::move(etag));
    return;
  }
  effects.patch(std::move(key), parsed_later(*patch), std::move(etag));
}

// What it has in place of a body, if anything.
struct DocumentChange {
  std::optional<std::string> patch;
  bool removes = false;
};
DocumentChange change_in(Fields& fields) {
  DocumentChange change;
  if (const std::optional<Json> patch = fields.any("patch")) change.patch = to_line(*patch);
  const std::optional<bool> removes = fields.boolean("delete");
  if (removes && !*removes) fields.complain("delete", "is not true");
  change.removes = removes.has_value();
  if (change.patch && change.removes) fields.complain("patch", "is there, and delete too");
  return change;
}

// Of a put: a condition, or that it needs none. To leave both out is taken for a mistake.
std::optional<documents::Condition> take_condition(Fields& fields) {
  const std::optional<std::string> match = fields.text("if_match");
  const std::optional<std::string> none_match = fields.text("if_none_match");
  const std::optional<bool> overwrites = fields.boolean("overwrite");
  if (none_match && *none_match != "*") fields.complain("if_none_match", "is not \"*\"");
  if (overwrites && !*overwrites) fields.complain("overwrite", "is not true");
  const int given =
      int{match.has_value()} + int{none_match.has_value()} + int{overwrites.has_value()};
  if (given != 1) {
    fields.complain("if_match",
                    "or if_none_match or overwrite is to be there, and one of them only");
  }
  if (match) return IfMatch{std::string(unquoted(*match))};
  if (overwrites) return std::nullopt;
  return IfAbsent{};
}

void take_document(Fields& fields, Effects& effects, DataForm form) {
  std::string key = take_name(fields, "key");
  const DocumentChange change = change_in(fields);
  if (change.patch || change.removes) {
    return take_change(fields, std::move(key), change.patch, effects);
  }
  fields.require("body");
  std::optional<Bytes> body = take_data(fields, "body", form);
  std::string type(kDocumentType);
  if (form == DataForm::exact) type = fields.text("type").value_or(std::move(type));
  if (!is_content_type(type)) fields.complain("type", "is not printable");
  documents::Content content{std::move(body).value_or(""), std::move(type)};
  std::optional<documents::Condition> condition = take_condition(fields);
  if (!condition) {
    effects.overwrite(std::move(key), std::move(content));
    return;
  }
  effects.put(std::move(key), std::move(content), std::move(*condition));
}

void take_effects(Fields& fields, Effects& effects, DataForm form) {
  take_each(fields, "logs", [&](Fields& log) {
    std::string stream = take_name(log, "stream");
    effects.append(std::move(stream), take_events(log, form));
  });
  take_each(fields, "docs", [&](Fields& document) { take_document(document, effects, form); });
  take_each(fields, "tallies", [&](Fields& tally) {
    std::string key = take_name(tally, "key");
    effects.merge(std::move(key), take_tally(tally, form));
  });
}

// A missing result is stored as JSON null.
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

// An array of what `write` makes of the parts. The first part that cannot be sent is the error.
template <class Parts, class WritePart>
Result<std::string> parts_json(const Parts& parts, DataForm form, WritePart write) {
  std::string out = "[";
  for (const auto& part : parts) {
    JsonObject one;
    if (Result<void> ok = write(one, part, form); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
    if (out.size() > 1) out += ',';
    out += one.finish();
  }
  out += ']';
  return out;
}

Result<void> write_append(JsonObject& out, const Effects::Append& append, DataForm form) {
  if (Result<void> ok = keys::check_name(append.stream); !ok) return ok;
  const Result<std::string> events = events_json(append.events, form);
  if (!events) return std::unexpected(events.error());
  out.text("stream", append.stream).raw("events", *events);
  return {};
}

Result<void> write_document(JsonObject& out, const Effects::Document& document, DataForm form) {
  if (Result<void> ok = keys::check_name(document.name); !ok) return ok;
  const std::string& type = document.content.type;
  if (!is_utf8(type)) return failure(ErrorCode::invalid, "a content type is not UTF-8");
  out.text("key", document.name);
  using Action = Effects::Document::Action;
  if (document.action == Action::put) {
    if (document.content.ttl) {
      return failure(ErrorCode::unsupported, "a document's ttl in a commit by a server");
    }
    if (form == DataForm::exact) out.text("type", type);
    out.raw("body", data_json(document.content.bytes, form));
  } else if (document.action == Action::patch) {
    if (!parse_json(document.patch.text)) return failure(ErrorCode::invalid, "not a merge patch");
    out.raw("patch", document.patch.text);
  } else {
    out.boolean("delete", true);
  }
  if (!document.condition) {
    if (document.action == Action::put) out.boolean("overwrite", true);
    return {};
  }
  if (const auto* match = std::get_if<IfMatch>(&*document.condition)) {
    out.text("if_match", match->etag);
  } else {
    out.text("if_none_match", "*");
  }
  return {};
}

Result<void> write_merge(JsonObject& out, const Effects::Tally& tally, DataForm form) {
  if (Result<void> ok = keys::check_name(tally.name); !ok) return ok;
  out.text("key", tally.name);
  return write_tally(out, tally.request, form);
}

Result<void> write_effects(JsonObject& out, const Effects& effects, DataForm form) {
  const Result<std::string> logs = parts_json(effects.appends(), form, write_append);
  if (!logs) return std::unexpected(logs.error());
  const Result<std::string> docs = parts_json(effects.documents(), form, write_document);
  if (!docs) return std::unexpected(docs.error());
  const Result<std::string> tallies = parts_json(effects.tallies(), form, write_merge);
  if (!tallies) return std::unexpected(tallies.error());
  out.raw("logs", *logs).raw("docs", *docs).raw("tallies", *tallies);
  return {};
}

Response made_response(const effects::Request& request, const Made& made, DataForm form) {
  JsonObject body;
  if (request.claim) body.raw("claim", R"({"state":"done"})");
  if (!made.appended.empty()) body.raw("logs", json_array(made.appended, appended_json));
  if (!made.etags.empty()) {
    body.raw("docs", json_array(made.etags, [](const std::string& etag) {
               if (etag.empty()) return std::string(R"({"etag":null})");
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
  return made.replayed ? replayed(std::move(response)) : response;
}

std::size_t index_in(std::string_view part) {
  const std::size_t open = part.find('[');
  if (open == std::string_view::npos || !part.ends_with(']')) return 0;
  const auto index = parse_integer(part.substr(open + 1, part.size() - open - 2));
  return static_cast<std::size_t>(index.value_or(0));
}

Problem refusal(const effects::Request& request, const Refused& refused) {
  if (std::holds_alternative<Fenced>(refused.why)) {
    return {Code::fenced, "another claim stands, or none"};
  }
  if (const auto* failed = std::get_if<PreconditionFailed>(&refused.why)) {
    const Effects::Document& document = request.effects.documents()[refused.index];
    Expected expected{document.name, std::nullopt};
    if (document.condition) expected.etag = etag_of(*document.condition);
    return precondition_problem("the document is not as the commit wants it", expected,
                                failed->etag);
  }
  if (const auto* patch = std::get_if<documents::DoesNotApply>(&refused.why)) {
    Problem answer(Code::invalid, patch->why);
    answer.status(422);
    return answer;
  }
  if (const auto* other = std::get_if<OtherTally>(&refused.why)) return other_tally(*other);
  if (std::holds_alternative<LogClosed>(refused.why)) return {Code::closed, "the log is closed"};
  return {Code::mismatch, "it was used for something else before"};
}

// One answer for each of the parts; none at all where there were no parts.
template <class Parts, class Read>
void read_each(JsonReader& body, std::string_view name, const Parts& parts, Read read) {
  if (parts.empty()) return;
  const std::vector<Json> answers = body.array(name);
  if (answers.size() != parts.size()) return body.fail();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    JsonReader one(answers[i]);
    read(one, parts[i]);
    if (!one.readable()) body.fail();
  }
}

Made read_made(JsonReader& body, const Effects& effects, DataForm form) {
  Made made;
  read_each(body, "logs", effects.appends(),
            [&](JsonReader& one, const auto&) { made.appended.push_back(read_appended(one)); });
  read_each(body, "docs", effects.documents(),
            [&](JsonReader& one, const Effects::Document& document) {
              const bool removed = document.action == Effects::Document::Action::remove;
              made.etags.push_back(removed ? "" : one.text("etag"));
            });
  read_each(body, "tallies", effects.tallies(), [&](JsonReader& one, const Effects::Tally& tally) {
    made.tallied.push_back({false, read_value(one, tally.request.shape.kind, form)});
  });
  return made;
}

Refused read_refused(JsonReader& body, const Response& response, Code code) {
  const std::string part = body.text("part");
  Refused refused{.index = index_in(part), .why = Mismatch{}};
  if (part.starts_with("docs[")) {
    refused.part = Refused::Part::document;
    PreconditionFailed failed;
    const std::string_view etag = response.headers.find("ETag").value_or("");
    if (!etag.empty()) failed.etag = std::string(unquoted(etag));
    refused.why = std::move(failed);
    if (response.status == 422) refused.why = documents::DoesNotApply{body.text("detail")};
  } else if (part.starts_with("tallies[")) {
    refused.part = Refused::Part::tally;
    refused.why = TallyMismatch{};
    if (response.status == 409) refused.why = read_other_tally(body);
  } else if (part.starts_with("logs[")) {
    refused.part = Refused::Part::log;
    refused.why = LogClosed{};
  } else if (part == "id") {
    refused.part = Refused::Part::id;
  } else if (code == Code::fenced) {
    refused.why = Fenced{};
  }
  return refused;
}

}  // namespace

Result<std::string> encode(const effects::Request& request, DataForm form, Commit commit) {
  JsonObject body;
  if (commit == Commit::prepared) body.boolean("prepare", true);
  if (!request.id.empty()) {
    if (Result<void> ok = keys::check_name(request.id); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
    body.text("id", request.id);
    if (request.id_ttl != effects::Request{}.id_ttl) body.duration("id_ttl", request.id_ttl);
  }
  if (request.claim) {
    JsonObject claim;
    claim.text("key", request.claim->name).text("ticket", request.claim->ticket.text);
    claim.raw("result", data_json(request.effects.result().value_or(Bytes()), form));
    body.raw("claim", claim.finish());
  } else if (request.effects.result()) {
    return failure(ErrorCode::invalid, "a result without a claim to complete");
  }
  if (Result<void> ok = write_effects(body, request.effects, form); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return body.finish();
}

Result<CommitRequest> decode_commit_request(std::string_view body, DataForm form) {
  const Result<Json> json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  Fields fields(*json);
  effects::Request request;
  const std::optional<std::string> id = fields.text("id");
  if (id && id->empty()) fields.complain("id", "is empty");
  request.id = id.value_or("");
  const std::optional<Duration> id_ttl = fields.duration("id_ttl");
  if (id_ttl && !id) fields.complain("id_ttl", "is there, and no id");
  request.id_ttl = id_ttl.value_or(request.id_ttl);
  const bool prepared = fields.boolean("prepare").value_or(false);
  take_claim(fields, request, form);
  take_effects(fields, request.effects, form);
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return CommitRequest{std::move(request), prepared ? Commit::prepared : Commit::made};
}

Result<Effects> decode_effects(std::string_view json) {
  const Result<Json> body = parse_json(json);
  if (!body) return std::unexpected(body.error());
  Fields fields(*body);
  Effects effects;
  if (std::optional<Bytes> result = take_data(fields, "result", DataForm::json)) {
    effects.result(std::move(*result));
  }
  take_effects(fields, effects, DataForm::json);
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return effects;
}

Response encode(const effects::Request& request, const effects::Outcome& outcome, DataForm form) {
  if (const auto* made = std::get_if<Made>(&outcome)) return made_response(request, *made, form);
  const auto& refused = std::get<Refused>(outcome);
  return refusal(request, refused)
      .text("part", effects::part_name(refused.part, refused.index))
      .finish();
}

Result<effects::Outcome> decode_commit_outcome(const Response& response, const Effects& effects,
                                               DataForm form) {
  const std::optional<Code> code = problem_code(response);
  JsonReader body(response.body);
  effects::Outcome outcome;
  if (code) {
    outcome = read_refused(body, response, *code);
  } else {
    Made made = read_made(body, effects, form);
    made.replayed = is_replay(response);
    outcome = std::move(made);
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return outcome;
}

Response encode(const effects::Request& request, const effects::PrepareOutcome& outcome,
                DataForm form) {
  if (const auto* sealed = std::get_if<effects::Sealed>(&outcome)) {
    return json_response(200, JsonObject().text("apply", sealed->token).finish());
  }
  if (const auto* made = std::get_if<Made>(&outcome)) return made_response(request, *made, form);
  return encode(request, effects::Outcome(std::get<Refused>(outcome)), form);
}

Result<effects::PrepareOutcome> decode_prepare_outcome(const Response& response,
                                                       const Effects& effects, DataForm form) {
  if (!problem_code(response) && !is_replay(response)) {
    JsonReader body(response.body);
    effects::Sealed sealed{body.text("apply")};
    if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
    return sealed;
  }
  Result<effects::Outcome> outcome = decode_commit_outcome(response, effects, form);
  if (!outcome) return std::unexpected(std::move(outcome.error()));
  if (auto* made = std::get_if<Made>(&*outcome)) return std::move(*made);
  return std::get<Refused>(std::move(*outcome));
}

}  // namespace once::wire
