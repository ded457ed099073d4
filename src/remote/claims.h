// Claims through a server.
#pragma once

#include <atomic>

#include "once/claims.h"
#include "remote/server_client.h"

namespace once::remote {

class RemoteClaims final : public Claims {
 public:
  // `server` must outlive it.
  explicit RemoteClaims(ServerClient& server) : server_(server) {}

  void set_if_store_down(IfStoreDown policy) override { if_store_down_ = policy; }
  Result<ClaimOutcome> take(std::string_view name, const ClaimRequest& request, Duration wait,
                            Duration within) override;
  Result<RenewOutcome> renew(std::string_view name, const Ticket& ticket, Duration lease,
                             Duration within) override;
  Result<SettleOutcome> complete(std::string_view name, const Ticket& ticket, Bytes result,
                                 Duration within) override;
  Result<SettleOutcome> release(std::string_view name, const Ticket& ticket, Bytes failure,
                                Release how, Duration within) override;
  Result<bool> forget(std::string_view name, Duration within) override;
  Result<std::optional<ClaimState>> show(std::string_view name, Duration within) override;
  Result<claims::ClaimPage> list(const claims::ClaimFilter& filter, std::string cursor,
                                 std::size_t limit, Duration within) override;
  Result<claims::BulkOutcome> forget_all(const claims::BulkRequest& request,
                                         Duration within) override;
  Result<claims::BulkOutcome> retry_all(const claims::BulkRequest& request,
                                        Duration within) override;
  Result<claims::BulkOutcome> release_all(const claims::BulkRequest& request,
                                          Duration within) override;
  Result<claims::Seen> mark(std::span<const std::string> ids, Duration ttl, std::string request,
                            Duration within) override;
  Result<std::optional<claims::SeenMark>> show_seen(std::string_view id, Duration within) override;
  Result<bool> forget_seen(std::string_view id, Duration within) override;

 private:
  // take() and mark() without regard to IfStoreDown.
  Result<ClaimOutcome> take_guarded(std::string_view name, const ClaimRequest& claim, Duration wait,
                                    Duration within);
  Result<claims::Seen> mark_guarded(std::span<const std::string> ids, Duration ttl,
                                    const std::string& id, Duration within);
  Result<claims::BulkOutcome> in_bulk(std::string_view action, std::string_view counted,
                                      const claims::BulkRequest& bulk, Duration within);

  Result<SettleOutcome> settle(std::string_view name, std::string_view action, std::string body,
                               Duration within);

  ServerClient& server_;
  std::atomic<IfStoreDown> if_store_down_ = IfStoreDown::refuse;
};

}  // namespace once::remote
