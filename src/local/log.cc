#include <utility>

#include "once/local.h"
#include "primitives/keys.h"

namespace once {

LocalLog::LocalLog(Store& store, std::string name_space, LogStrategy strategy, Clock& clock,
                   Entropy& entropy)
    : LocalLog(LocalDriver(store, clock, entropy), std::move(name_space), strategy) {}

LocalLog::LocalLog(LocalDriver driver, std::string name_space, LogStrategy strategy)
    : name_space_(std::move(name_space)), strategy_(strategy), driver_(driver) {}

Result<logs::Stream> LocalLog::stream_of(std::string_view name) const {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (Result<void> ok = keys::check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  return logs::stream(name_space_, name, strategy_);
}

Result<AppendOutcome> LocalLog::append(std::string_view stream, std::vector<LogEvent> events,
                                       const AppendRequest& request, Duration within) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::append(std::move(*place), std::move(events), request, &known_), within);
}

Result<logs::EventsOutcome> LocalLog::append_events(std::string_view stream,
                                                    std::vector<LogEvent> events,
                                                    logs::EventIds ids,
                                                    const AppendRequest& request, Duration within) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(
      logs::append_events(std::move(*place), std::move(events), std::move(ids), request, &known_),
      within);
}

Result<LogPage> LocalLog::read(std::string_view stream, const LogRead& request, Duration within) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::read(std::move(*place), request), within);
}

Result<LogEnds> LocalLog::ends(std::string_view stream, Duration within) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::ends(std::move(*place)), within);
}

Result<LogEnds> LocalLog::trim(std::string_view stream, std::int64_t before, Duration within) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::trim(std::move(*place), before), within);
}

Result<std::optional<LogEnds>> LocalLog::close(std::string_view stream, std::optional<Duration> ttl,
                                               Duration within) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::close(std::move(*place), ttl), within);
}

Result<LogRemoval> LocalLog::remove(std::string_view stream, Duration within) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::remove(std::move(*place)), within);
}

Result<LogList> LocalLog::list(std::string_view prefix, std::string cursor, std::size_t limit,
                               Duration within) {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (Result<void> ok = keys::check_prefix(prefix); !ok) return std::unexpected(ok.error());
  return driver_.run(logs::list(name_space_, std::string(prefix), std::move(cursor), limit),
                     within);
}

Result<std::int64_t> LocalLog::heal(std::string_view stream, Duration grace, Duration within) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::heal(std::move(*place), grace), within + grace);
}

}  // namespace once
