#include "remote/remote.h"

#include <utility>

#include "client/url.h"
#include "remote/claims.h"
#include "remote/commit.h"
#include "remote/documents.h"
#include "remote/log.h"
#include "remote/tallies.h"

namespace once::remote {
namespace {

class Remote final : public Backend {
 public:
  Remote(std::string url, std::string token, std::string name_space, Clock& clock, Entropy& entropy,
         std::function<bool()> still_there, wire::DataForm form, client::MakeChallenge challenge)
      : server_(std::move(url), std::move(token), std::move(name_space), clock, entropy,
                std::move(still_there), form, std::move(challenge)),
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
    return remote::commit(server_, std::move(id), std::move(claim), std::move(effects), within);
  }
  Time now() override { return server_.clock().now(); }

 private:
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
                                         client::MakeChallenge challenge) {
  if (!client::parse_url(url)) {
    return failure(ErrorCode::invalid,
                   "a server's address is http://host:port, or https://host:port");
  }
  return std::make_unique<Remote>(std::move(url), std::move(token), std::move(name_space), clock,
                                  entropy, std::move(still_there), form, std::move(challenge));
}

}  // namespace once::remote
