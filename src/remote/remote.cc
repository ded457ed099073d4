#include "remote/remote.h"

#include <utility>

#include "client/url.h"
#include "remote/claims.h"
#include "remote/documents.h"
#include "remote/log.h"
#include "remote/tallies.h"
#include "wire/effects.h"

namespace once::remote {
namespace {

class Remote final : public Backend {
 public:
  Remote(std::string url, std::string token, std::string name_space, Clock& clock, Entropy& entropy,
         std::function<bool()> still_there, wire::DataForm form, client::ServerTrust trust)
      : server_(std::move(url), std::move(token), std::move(name_space), clock, entropy,
                std::move(still_there), form, std::move(trust)),
        claims_(server_),
        log_(server_),
        documents_(server_),
        tallies_(server_) {}

  Claims& claims() override { return claims_; }
  Log& log() override { return log_; }
  Documents& documents() override { return documents_; }
  Tallies& tallies() override { return tallies_; }
  Store* store() override { return nullptr; }
  Clock& clock() override { return server_.clock(); }

  Result<effects::Outcome> commit(std::string id, std::optional<effects::ClaimPart> claim,
                                  Effects effects, Duration within) override {
    return commit({.id = std::move(id), .claim = std::move(claim), .effects = std::move(effects)},
                  within);
  }
  Result<effects::PrepareOutcome> prepare(std::string id, std::optional<effects::ClaimPart> claim,
                                          Effects effects, Duration within) override {
    const effects::Request wanted{
        .id = std::move(id), .claim = std::move(claim), .effects = std::move(effects)};
    const Result<CallResult> called = call(wanted, wire::Commit::prepared, within);
    if (!called) return std::unexpected(called.error());
    return wire::decode_prepare_outcome(called->response, wanted.effects, server_.form());
  }
  Time now() override { return server_.clock().now(); }

 private:
  // A commit without an id or a claim gets an id of its own, so that it happens once although an
  // answer is lost.
  Result<effects::Outcome> commit(effects::Request wanted, Duration within) {
    const bool own_id = wanted.id.empty() && !wanted.claim;
    if (own_id) wanted.id = server_.new_id();
    const Result<CallResult> called = call(wanted, wire::Commit::made, within);
    if (!called) return std::unexpected(called.error());
    Result<effects::Outcome> outcome =
        wire::decode_commit_outcome(called->response, wanted.effects, server_.form());
    auto* const made = outcome ? std::get_if<effects::Made>(&*outcome) : nullptr;
    if (made != nullptr && (own_id || called->was_retried)) made->replayed = false;
    return outcome;
  }

  Result<CallResult> call(const effects::Request& wanted, wire::Commit commit, Duration within) {
    Result<wire::Request> request = server_.request("POST", "/v1/commit");
    if (!request) return std::unexpected(std::move(request.error()));
    Result<std::string> body = wire::encode(wanted, server_.form(), commit);
    if (!body) return std::unexpected(std::move(body.error()));
    request->body = std::move(*body);
    return server_.call(*request, Repeat::safe, within);
  }

  ServerClient server_;
  RemoteClaims claims_;
  RemoteLog log_;
  RemoteDocuments documents_;
  RemoteTallies tallies_;
};

}  // namespace

Result<std::unique_ptr<Backend>> connect(std::string url, std::string token, std::string name_space,
                                         Clock& clock, Entropy& entropy,
                                         std::function<bool()> still_there, wire::DataForm form,
                                         client::ServerTrust trust) {
  if (!client::parse_url(url)) {
    return failure(ErrorCode::invalid,
                   "a server's address is http://host:port, or https://host:port");
  }
  return std::make_unique<Remote>(std::move(url), std::move(token), std::move(name_space), clock,
                                  entropy, std::move(still_there), form, std::move(trust));
}

}  // namespace once::remote
