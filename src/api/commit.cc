// POST /v1/commit: several primitives' work as one commit.
#include "api/audit.h"
#include "api/call.h"
#include "once/effects.h"
#include "primitives/tally_kinds.h"
#include "wire/effects.h"

namespace once::api {
namespace {

using effects::Refused;

// The key on which the commit met another, if that is why it was refused.
std::string conflict_of(const effects::Request& request, const Refused& refused) {
  if (std::holds_alternative<Fenced>(refused.why)) return "claims/" + request.claim->name;
  if (!std::holds_alternative<documents::PreconditionFailed>(refused.why)) return "";
  return "docs/" + request.effects.documents()[refused.index].name;
}

// A refusal by a key that another has changed meanwhile counts as a conflict of that key.
Plan<Response> answer_refused(const effects::Request& request, const Refused& refused, HotKeys& hot,
                              DataForm form) {
  const Time now = co_await store_now();
  const std::string key = conflict_of(request, refused);
  if (!key.empty()) hot.conflicted(request.name_space, key, now);
  co_return wire::encode(request, effects::Outcome(refused), form);
}

Plan<Response> answer_commit(effects::Request request, HotKeys& hot, DataForm form,
                             Recording recording) {
  const effects::Outcome outcome = co_await effects::commit(request, std::move(recording));
  if (const auto* refused = std::get_if<Refused>(&outcome)) {
    co_return co_await answer_refused(request, *refused, hot, form);
  }
  Response response = wire::encode(request, outcome, form);
  if (!std::get<effects::Made>(outcome).replayed) {
    response.telemetry.marked = request.claim ? 1 : 0;
  }
  for (const auto& append : request.effects.appends()) {
    response.telemetry.appended.push_back(append.stream);
  }
  co_return response;
}

Plan<Response> answer_prepare(effects::Request request, HotKeys& hot, DataForm form,
                              Recording recording) {
  const effects::PrepareOutcome outcome = co_await effects::prepare(request, std::move(recording));
  if (const auto* refused = std::get_if<Refused>(&outcome)) {
    co_return co_await answer_refused(request, *refused, hot, form);
  }
  co_return wire::encode(request, outcome, form);
}

}  // namespace

Answer commit_effects(Call& call) {
  Result<wire::CommitRequest> body = wire::decode_commit_request(call.request.body, call.form);
  if (!body) return problem(body.error());
  effects::Request& request = body->request;
  request.name_space = call.name_space;
  request.tally_bytes = call.service.tally_bytes();
  std::size_t weight = 0;
  for (const Effects::Tally& tally : request.effects.tallies()) {
    weight += tallies::most_bytes_of(tally.request.shape);
  }
  Recording recording;
  for (const Effects::Document& document : request.effects.documents()) {
    const bool removes = document.action == Effects::Document::Action::remove;
    if (removes && !recording) recording = audit_of(call, "doc.delete");
    weight += documents::weight_of_update(document.patch.text.size());
  }
  HotKeys& hot = call.service.hot();
  Answer answer = body->commit == wire::Commit::prepared
                      ? answer_prepare(std::move(request), hot, call.form, std::move(recording))
                      : answer_commit(std::move(request), hot, call.form, std::move(recording));
  answer.weight = weight;
  return answer;
}

}  // namespace once::api
