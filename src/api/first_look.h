// What a server reads from its store before the first request.
#pragma once

#include "once/plan.h"

namespace once::api {

// Reads the secret of the store's tickets, or makes it. Otherwise the first claims would do so, and
// requests that were sent after them on one connection would overtake them.
Plan<const StoreSecret*> learn_secret();

}  // namespace once::api
