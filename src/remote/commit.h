// Effects through a server.
#pragma once

#include <optional>
#include <string>

#include "once/effects.h"
#include "remote/server_client.h"

namespace once::remote {

// A commit without an id or a claim gets an id of its own, so that it happens once although an
// answer is lost.
Result<effects::Outcome> commit(ServerClient& server, std::string id,
                                std::optional<effects::ClaimPart> claim, Effects effects,
                                Duration within);

}  // namespace once::remote
