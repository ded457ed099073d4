// Claims through a server.
#pragma once

#include "once/claims.h"
#include "remote/peer.h"

namespace once::remote {

class RemoteClaims final : public Claims {
 public:
  // Both must outlive it. `none` is asked for nothing.
  RemoteClaims(Peer& peer, Store& none)
      : Claims(none, peer.name_space(), peer.clock(), peer.entropy()), peer_(peer) {}

  Result<ClaimOutcome> take(std::string_view name, const ClaimRequest& request,
                            Duration wait) override;
  Result<RenewOutcome> renew(std::string_view name, const Ticket& ticket, Duration lease) override;
  Result<RenewOutcome> renew_within(std::string_view name, const Ticket& ticket, Duration lease,
                                    Duration within);
  Result<SettleOutcome> complete(std::string_view name, const Ticket& ticket,
                                 Bytes result) override;
  Result<SettleOutcome> release(std::string_view name, const Ticket& ticket, Bytes failure,
                                Release how) override;
  Result<bool> forget(std::string_view name) override;
  Result<std::optional<ClaimState>> show(std::string_view name) override;
  Result<claims::ClaimPage> list(std::optional<ClaimState::Kind> kind, std::string cursor,
                                 std::size_t limit) override;
  Result<std::vector<bool>> seen(std::span<const std::string> ids, Duration ttl,
                                 std::string request) override;

 private:
  Result<ClaimOutcome> ask(std::string_view name, const ClaimRequest& request, Duration wait);
  Result<claims::Seen> ask_seen(std::span<const std::string> ids, Duration ttl,
                                const std::string& request);
  Result<SettleOutcome> settle(std::string_view name, std::string_view action, std::string body);

  Peer& peer_;
};

}  // namespace once::remote
