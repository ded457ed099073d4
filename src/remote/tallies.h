// Tallies through a server: of every kind but a program's own. A merge without an id is sent once,
// unless merging again changes nothing.
#pragma once

#include "once/tallies.h"
#include "remote/peer.h"
#include "remote/reading.h"

namespace once::remote {

// Adds what a merge is to the object of its request.
Result<void> write_tally(api::JsonObject& out, const TallyRequest& request);

// The value of a tally; nothing if the answer has none.
std::optional<TallyValue> value_in(Reading& body, TallyKind kind);

// What the tally is instead, as a problem tells it.
OtherTally other_in(Reading& body);

class RemoteTallies final : public Tallies {
 public:
  // Both must outlive it. `none` is asked for nothing.
  RemoteTallies(Peer& peer, Store& none)
      : Tallies(none, peer.name_space(), peer.clock(), peer.entropy()), peer_(peer) {}

  // A bucket of too many ids is `unavailable`.
  Result<TallyOutcome> merge(std::string_view name, const TallyRequest& request) override;
  Result<std::optional<TallyReading>> read(std::string_view name, const TallyRange& range,
                                           std::shared_ptr<const Monoid> own) override;
  Result<std::vector<std::optional<TallyReading>>> read_all(
      std::span<const std::string> names, const TallyRange& range,
      std::shared_ptr<const Monoid> own) override;

 private:
  Peer& peer_;
};

}  // namespace once::remote
