#include "remote/remote.h"

#include <utility>

#include "client/url.h"
#include "remote/claims.h"
#include "remote/commit.h"
#include "remote/documents.h"
#include "remote/log.h"
#include "remote/no_store.h"
#include "remote/tallies.h"

namespace once::remote {
namespace {

class Remote final : public Backend {
 public:
  Remote(std::string url, std::string token, std::string name_space, Clock& clock, Entropy& entropy)
      : peer_(std::move(url), std::move(token), std::move(name_space), clock, entropy),
        store_(clock),
        claims_(peer_, store_),
        log_(peer_, store_),
        documents_(peer_, store_),
        tallies_(peer_, store_) {}

  Claims& claims() override { return claims_; }
  Log& log() override { return log_; }
  Documents& documents() override { return documents_; }
  Tallies& tallies() override { return tallies_; }
  Store& store() override { return store_; }
  Clock& clock() override { return peer_.clock(); }

  Result<RenewOutcome> renew(std::string_view name, const Ticket& ticket, Duration lease,
                             Duration within) override {
    return claims_.renew_within(name, ticket, lease, within);
  }
  Result<effects::Outcome> commit(std::string id, std::optional<effects::ClaimPart> claim,
                                  Effects effects) override {
    return remote::commit(peer_, std::move(id), claim, effects);
  }
  Time now() override { return peer_.clock().now(); }

  // The server's clock may be another's: a lease begins no earlier than it is asked for.
  Time end_of_lease(Time asked, Duration lease, Time) const override { return later(asked, lease); }

 private:
  Peer peer_;
  NoStore store_;
  RemoteClaims claims_;
  RemoteLog log_;
  RemoteDocuments documents_;
  RemoteTallies tallies_;
};

}  // namespace

Result<std::unique_ptr<Backend>> connect(std::string url, std::string token, std::string name_space,
                                         Clock& clock, Entropy& entropy) {
  if (!client::parse_url(url)) {
    return failure(ErrorCode::invalid,
                   "a server's address is http://host:port, or https://host:port");
  }
  return std::make_unique<Remote>(std::move(url), std::move(token), std::move(name_space), clock,
                                  entropy);
}

}  // namespace once::remote
