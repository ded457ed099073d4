#include "remote/commit.h"

#include <utility>

#include "api/data_form.h"
#include "api/text.h"
#include "primitives/keys.h"
#include "remote/events.h"
#include "remote/tallies.h"

namespace once::remote {
namespace {

using api::DataForm;
using api::JsonObject;
using documents::IfMatch;
using documents::PreconditionFailed;
using effects::Made;
using effects::Refused;

// An array of what `each` makes of the parts; the first that cannot be is the answer.
template <class Parts, class Each>
Result<std::string> array_of(const Parts& parts, Each each) {
  std::string out = "[";
  for (const auto& part : parts) {
    JsonObject one;
    if (Result<void> ok = each(one, part); !ok) return std::unexpected(std::move(ok.error()));
    if (out.size() > 1) out += ',';
    out += one.finish();
  }
  out += ']';
  return out;
}

Result<void> write_append(JsonObject& out, const Effects::Append& append) {
  if (Result<void> ok = keys::check_name(append.stream); !ok) return ok;
  const Result<std::string> events = events_json(append.events);
  if (!events) return std::unexpected(events.error());
  out.text("stream", append.stream).raw("events", *events);
  return {};
}

Result<void> write_document(JsonObject& out, const Effects::Document& document) {
  if (Result<void> ok = keys::check_name(document.name); !ok) return ok;
  if (!api::is_utf8(document.content.type)) {
    return failure(ErrorCode::invalid, "a content type is not UTF-8");
  }
  out.text("key", document.name).text("type", document.content.type);
  out.raw("body", api::text_json(document.content.bytes, DataForm::exact));
  if (const auto* match = std::get_if<IfMatch>(&document.condition)) {
    out.text("if_match", match->etag);
  } else {
    out.text("if_none_match", "*");
  }
  return {};
}

Result<void> write_merge(JsonObject& out, const Effects::Tally& tally) {
  if (Result<void> ok = keys::check_name(tally.name); !ok) return ok;
  out.text("key", tally.name);
  return write_tally(out, tally.request);
}

Result<void> write_effects(JsonObject& out, const Effects& effects) {
  const Result<std::string> logs = array_of(effects.appends(), write_append);
  if (!logs) return std::unexpected(logs.error());
  const Result<std::string> docs = array_of(effects.documents(), write_document);
  if (!docs) return std::unexpected(docs.error());
  const Result<std::string> tallies = array_of(effects.tallies(), write_merge);
  if (!tallies) return std::unexpected(tallies.error());
  out.raw("logs", *logs).raw("docs", *docs).raw("tallies", *tallies);
  return {};
}

// One answer for each of the parts; none at all where there were no parts.
template <class Parts, class Each>
void read_each(Reading& body, std::string_view name, const Parts& parts, Each each) {
  if (parts.empty()) return;
  const std::vector<api::Json> answers = body.array(name);
  if (answers.size() != parts.size()) return body.misunderstood();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Reading one(answers[i]);
    each(one, parts[i]);
    if (!one.sound()) body.misunderstood();
  }
}

Made made_in(Reading& body, const Effects& effects) {
  Made made;
  read_each(body, "logs", effects.appends(),
            [&](Reading& one, const auto&) { made.appended.push_back(appended_in(one)); });
  read_each(body, "docs", effects.documents(),
            [&](Reading& one, const auto&) { made.etags.push_back(one.text("etag")); });
  read_each(body, "tallies", effects.tallies(), [&](Reading& one, const Effects::Tally& tally) {
    made.tallied.push_back({false, value_in(one, tally.request.shape.kind)});
  });
  return made;
}

// "docs[2]" is part 2 of "docs".
std::size_t index_in(std::string_view part) {
  const std::size_t open = part.find('[');
  if (open == std::string_view::npos || !part.ends_with(']')) return 0;
  const auto index = api::parse_integer(part.substr(open + 1, part.size() - open - 2));
  return static_cast<std::size_t>(index.value_or(0));
}

Refused refused_in(Reading& body, const api::Response& response, std::string_view code) {
  const std::string part = body.text("part");
  Refused refused{.index = index_in(part), .why = Mismatch{}};
  if (part.starts_with("docs[")) {
    refused.part = Refused::Part::document;
    PreconditionFailed failed;
    const std::string_view etag = response.headers.find("ETag").value_or("");
    if (etag.size() > 2) failed.etag = std::string(etag.substr(1, etag.size() - 2));
    refused.why = std::move(failed);
  } else if (part.starts_with("tallies[")) {
    refused.part = Refused::Part::tally;
    refused.why = TallyMismatch{};
    if (response.status == 409) refused.why = other_in(body);
  } else if (part == "id") {
    refused.part = Refused::Part::id;
  } else if (code == "fenced") {
    refused.why = Fenced{};
  }
  return refused;
}

Result<std::string> body_of(const std::string& id, const std::optional<effects::ClaimPart>& claim,
                            const Effects& effects) {
  JsonObject body;
  if (!id.empty()) body.text("id", id);
  if (claim) {
    JsonObject part;
    part.text("key", claim->name).text("ticket", claim->ticket.text);
    part.raw("result", api::text_json(effects.result().value_or(Bytes()), DataForm::exact));
    body.raw("claim", part.finish());
  } else if (effects.result()) {
    return failure(ErrorCode::invalid, "a result without a claim to complete");
  }
  if (Result<void> ok = write_effects(body, effects); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return body.finish();
}

}  // namespace

Result<effects::Outcome> commit(Peer& peer, std::string id,
                                const std::optional<effects::ClaimPart>& claim,
                                const Effects& effects) {
  if (!id.empty()) {
    if (Result<void> ok = keys::check_name(id); !ok) return std::unexpected(std::move(ok.error()));
  }
  const bool own = id.empty() && !claim;
  if (own) id = peer.new_id();
  Result<api::Request> question = peer.request("POST", "/v1/commit");
  if (!question) return std::unexpected(std::move(question.error()));
  Result<std::string> written = body_of(id, claim, effects);
  if (!written) return std::unexpected(std::move(written.error()));
  question->body = std::move(*written);
  const Result<Told> told = peer.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  const std::string code = code_of(told->response);
  Reading body(told->response);
  effects::Outcome outcome;
  if (code.empty()) {
    Made made = made_in(body, effects);
    made.replayed = is_replayed(told->response) && !own && !told->again;
    outcome = std::move(made);
  } else {
    outcome = refused_in(body, told->response, code);
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return outcome;
}

}  // namespace once::remote
