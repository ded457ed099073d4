// What Once stands on: the primitives of one namespace, wherever they are. On a store of this
// process (what Once makes of a Store), through a server, or in a directory that either a server or
// this process has.
#pragma once

#include <optional>
#include <string>

#include "once/effects.h"
#include "once/store.h"

namespace once {

// Safe to share between threads.
class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // They live as long as the backend.
  virtual Claims& claims() = 0;
  virtual Log& log() = 0;
  virtual Documents& documents() = 0;
  virtual Tallies& tallies() = 0;

  // As effects::commit. `within` bounds it as in claims.h.
  virtual Result<effects::Outcome> commit(std::string id, std::optional<effects::ClaimPart> claim,
                                          Effects effects, Duration within = kAttemptLife) = 0;

  // As effects::prepare.
  virtual Result<effects::PrepareOutcome> prepare(std::string id,
                                                  std::optional<effects::ClaimPart> claim,
                                                  Effects effects,
                                                  Duration within = kAttemptLife) = 0;

  // The store that calls go to, if it is in this process and stays open; null otherwise.
  virtual Store* store() = 0;

  virtual Clock& clock() = 0;

  // The time as it is known here: the store's, or this machine's if the store is elsewhere. A lease
  // that is asked for at this time does not end before its length has passed.
  virtual Time now() = 0;
};

}  // namespace once
