// Tallies through a server: of every kind but a program's own. A merge without an id is sent once,
// unless merging again changes nothing.
#pragma once

#include "once/tallies.h"
#include "remote/server_client.h"
#include "wire/tallies.h"

namespace once::remote {

class RemoteTallies final : public Tallies {
 public:
  // `server` must outlive it.
  explicit RemoteTallies(ServerClient& server) : server_(server) {}

  // A bucket of too many ids is `unavailable`.
  Result<TallyOutcome> merge(std::string_view name, const TallyRequest& request,
                             Duration within) override;
  Result<std::optional<TallyReading>> read(std::string_view name, const TallyRange& range,
                                           std::shared_ptr<const Monoid> own,
                                           Duration within) override;
  Result<std::vector<std::optional<TallyReading>>> read_all(std::span<const std::string> names,
                                                            const TallyRange& range,
                                                            std::shared_ptr<const Monoid> own,
                                                            Duration within) override;
  Result<std::vector<std::optional<TallyReading>>> read_each(std::span<const TallyRead> reads,
                                                             std::shared_ptr<const Monoid> own,
                                                             Duration within) override;
  Result<std::optional<TallySeries>> series(std::string_view name, const TallyRange& range,
                                            std::shared_ptr<const Monoid> own,
                                            Duration within) override;
  Result<bool> remove(std::string_view name, Duration within) override;
  Result<TallyPage> list(const Listing& listing, Duration within) override;
  Result<BulkRemoved> remove_all(const Listing& listing, BulkRun run, Duration within) override;

 private:
  Result<wire::Response> get(std::string_view name, const TallyRange& range, std::string_view more,
                             Duration within);
  Result<std::vector<std::optional<TallyReading>>> read_by(const wire::TalliesReadRequest& wanted,
                                                           std::size_t count, Duration within);

  ServerClient& server_;
};

}  // namespace once::remote
