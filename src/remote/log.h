// Logs through a server: of strategy `conditional`, which is a server's only one.
#pragma once

#include "once/log.h"
#include "remote/server_client.h"

namespace once::remote {

class RemoteLog final : public Log {
 public:
  // `server` must outlive it.
  explicit RemoteLog(ServerClient& server) : server_(server) {}

  Result<AppendOutcome> append(std::string_view stream, std::vector<LogEvent> events,
                               const AppendRequest& request, Duration within) override;
  Result<logs::EventsOutcome> append_events(std::string_view stream, std::vector<LogEvent> events,
                                            logs::EventIds ids, const AppendRequest& request,
                                            Duration within) override;
  Result<LogPage> read(std::string_view stream, const LogRead& request, Duration within) override;
  Result<LogEnds> ends(std::string_view stream, Duration within) override;
  Result<LogEnds> trim(std::string_view stream, std::int64_t before, Duration within) override;
  Result<std::optional<LogEnds>> close(std::string_view stream, std::optional<Duration> ttl,
                                       Duration within) override;
  Result<LogRemoval> remove(std::string_view stream, Duration within) override;
  Result<LogList> list(std::string_view prefix, std::string cursor, std::size_t limit,
                       Duration within) override;
  Result<std::int64_t> heal(std::string_view stream, Duration grace, Duration within) override;

 private:
  ServerClient& server_;
};

}  // namespace once::remote
