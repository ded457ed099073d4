// Keys from services on the machine itself: the endpoint of a container, and an instance's metadata
// (version 2 only: version 1 gives keys to whoever can make a program fetch a URL).
#pragma once

#include <optional>

#include "aws/credentials.h"
#include "aws/environment.h"
#include "aws/transfers.h"

namespace once::aws {

// What a container's endpoint gives; nothing if none is configured. Over http it is asked only on
// this machine, because the answer is a secret.
Result<std::optional<Keys>> container_keys(const Environment& environment, Transfers& transfers,
                                           Deadline deadline);

// What the instance's role gives; nothing if this is no instance, or one without a role.
Result<std::optional<Keys>> instance_keys(const Environment& environment, Transfers& transfers,
                                          Deadline deadline);

}  // namespace once::aws
