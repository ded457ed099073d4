#include "remote/commit.h"

#include <utility>

#include "wire/effects.h"

namespace once::remote {

Result<effects::Outcome> commit(ServerClient& server, std::string id,
                                std::optional<effects::ClaimPart> claim, Effects effects,
                                Duration within) {
  const bool own_id = id.empty() && !claim;
  if (own_id) id = server.new_id();
  Result<wire::Request> request = server.request("POST", "/v1/commit");
  if (!request) return std::unexpected(std::move(request.error()));
  effects::Request wanted{
      .id = std::move(id), .claim = std::move(claim), .effects = std::move(effects)};
  Result<std::string> body = wire::encode(wanted, server.form());
  if (!body) return std::unexpected(std::move(body.error()));
  request->body = std::move(*body);
  const Result<CallResult> called = server.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  Result<effects::Outcome> outcome =
      wire::decode_commit_outcome(called->response, wanted.effects, server.form());
  auto* const made = outcome ? std::get_if<effects::Made>(&*outcome) : nullptr;
  if (made != nullptr && (own_id || called->was_retried)) made->replayed = false;
  return outcome;
}

}  // namespace once::remote
