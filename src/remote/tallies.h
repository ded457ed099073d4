// Tallies through a server: of every kind but a program's own. A merge without an id is sent once,
// unless merging again changes nothing.
#pragma once

#include "once/tallies.h"
#include "remote/server_client.h"

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

 private:
  ServerClient& server_;
};

}  // namespace once::remote
