// Keys that expire, fetched again before they do.
#pragma once

#include <functional>
#include <memory>

#include "aws/credentials.h"

namespace once::aws {

using FetchKeys = std::function<Result<Keys>(Deadline)>;

// Fetches when first asked, and again when less than five minutes, or a quarter of their life, are
// left of the keys; one thread at a time does, and the others use the old ones while those are
// good. While fetching fails, the keys are used until they expire, and it is tried at most once a
// second.
std::shared_ptr<Credentials> refreshing_credentials(FetchKeys fetch, Clock& clock);

}  // namespace once::aws
