// What Once stands on: a store that this process opened, or a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "once/effects.h"

namespace once {

// Safe to share between threads.
class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual Claims& claims() = 0;
  virtual Log& log() = 0;
  virtual Documents& documents() = 0;
  virtual Tallies& tallies() = 0;
  virtual Store& store() = 0;
  virtual Clock& clock() = 0;

  // Tries for no longer than `within`.
  virtual Result<RenewOutcome> renew(std::string_view name, const Ticket& ticket, Duration lease,
                                     Duration within) = 0;

  // As effects::commit.
  virtual Result<effects::Outcome> commit(std::string id, std::optional<effects::ClaimPart> claim,
                                          Effects effects) = 0;

  // The time as it is known here.
  virtual Time now() = 0;

  // When a lease ends by that time, if it was asked for at `asked` and was said to end at `told`:
  // never later than it does.
  virtual Time end_of_lease(Time asked, Duration lease, Time told) const = 0;
};

}  // namespace once
