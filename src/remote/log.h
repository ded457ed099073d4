// Logs through a server: of strategy `conditional`, which is a server's only one.
#pragma once

#include "once/log.h"
#include "remote/peer.h"

namespace once::remote {

class RemoteLog final : public Log {
 public:
  // Both must outlive it. `none` is asked for nothing.
  RemoteLog(Peer& peer, Store& none)
      : Log(none, peer.name_space(), LogStrategy::conditional, peer.clock(), peer.entropy()),
        peer_(peer) {}

  Result<AppendOutcome> append(std::string_view stream, std::vector<LogEvent> events,
                               const AppendRequest& request) override;
  Result<LogPage> read(std::string_view stream, const LogRead& request) override;
  Result<LogEnds> ends(std::string_view stream) override;
  Result<LogEnds> trim(std::string_view stream, std::int64_t before) override;
  Result<std::int64_t> heal(std::string_view stream, Duration grace) override;

 private:
  Peer& peer_;
};

}  // namespace once::remote
