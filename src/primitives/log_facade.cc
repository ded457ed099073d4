#include <utility>

#include "once/log.h"
#include "primitives/keys.h"

namespace once {

Log::Log(Store& store, std::string name_space, LogStrategy strategy, Clock& clock, Entropy& entropy)
    : name_space_(std::move(name_space)), strategy_(strategy), driver_(store, clock, entropy) {}

Result<logs::Stream> Log::stream_of(std::string_view name) const {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (Result<void> ok = keys::check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  return logs::stream(name_space_, name, strategy_);
}

Result<AppendOutcome> Log::append(std::string_view stream, std::vector<LogEvent> events,
                                  const AppendRequest& request) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::append(std::move(*place), std::move(events), request, &known_));
}

Result<LogPage> Log::read(std::string_view stream, const LogRead& request) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::read(std::move(*place), request));
}

Result<LogEnds> Log::ends(std::string_view stream) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::ends(std::move(*place)));
}

Result<LogEnds> Log::trim(std::string_view stream, std::int64_t before) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::trim(std::move(*place), before));
}

Result<std::int64_t> Log::heal(std::string_view stream, Duration grace) {
  Result<logs::Stream> place = stream_of(stream);
  if (!place) return std::unexpected(std::move(place.error()));
  return driver_.run(logs::heal(std::move(*place), grace), kAttemptLife + grace);
}

}  // namespace once
