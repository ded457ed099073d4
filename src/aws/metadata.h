// Keys from services on the machine itself: the endpoint of a container, and an instance's metadata
// (version 2 only: with version 1, any program that can be made to fetch a URL reveals the keys).
#pragma once

#include <optional>

#include "aws/credentials.h"
#include "aws/environment.h"
#include "aws/transfers.h"

namespace once::aws {

// The keys of a container's endpoint; empty if none is configured. Over http only on this machine,
// because the answer is a secret.
Result<std::optional<Keys>> container_keys(const Environment& environment, Transfers& transfers,
                                           Deadline deadline);

// The keys of the instance's role; empty on another machine, or without a role.
Result<std::optional<Keys>> instance_keys(const Environment& environment, Transfers& transfers,
                                          Deadline deadline);

}  // namespace once::aws
