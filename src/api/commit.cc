// POST /v1/commit: several primitives' work as one commit.
#include "api/call.h"
#include "once/effects.h"
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

Plan<Response> answer_commit(effects::Request request, HotKeys& hot, DataForm form) {
  const effects::Outcome outcome = co_await effects::commit(request);
  Response response = wire::encode(request, outcome, form);
  if (const auto* made = std::get_if<effects::Made>(&outcome)) {
    if (!made->replayed) response.telemetry.marked = request.claim ? 1 : 0;
    for (const auto& append : request.effects.appends()) {
      response.telemetry.appended.push_back(append.stream);
    }
    co_return response;
  }
  const Time now = co_await store_now();
  const std::string key = conflict_of(request, std::get<Refused>(outcome));
  if (!key.empty()) hot.conflicted(request.name_space, key, now);
  co_return response;
}

}  // namespace

Answer commit_effects(Call& call) {
  Result<effects::Request> request = wire::decode_commit_request(call.request.body, call.form);
  if (!request) return problem(request.error());
  request->name_space = call.name_space;
  request->tally_bytes = call.service.options().tally_bytes;
  return answer_commit(std::move(*request), call.service.hot(), call.form);
}

}  // namespace once::api
