// Effects through a server: POST /v1/commit.
#pragma once

#include <optional>
#include <string>

#include "once/effects.h"
#include "remote/peer.h"

namespace once::remote {

// A commit with neither a claim nor an id gets an id of its own, so that it happens once although
// an answer is lost.
Result<effects::Outcome> commit(Peer& peer, std::string id,
                                const std::optional<effects::ClaimPart>& claim,
                                const Effects& effects);

}  // namespace once::remote
