// redis://USER:PASSWORD@HOST:PORT/DATABASE?timeout=SECONDS&connections=N
// rediss://… the same over TLS, and ca=FILE
#pragma once

#include "once/redis_store.h"
#include "open/address.h"

namespace once {

// Messages never have the password.
Result<RedisOptions> redis_options(const Address& address);

}  // namespace once
