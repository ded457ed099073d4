// An HTTP endpoint that handles messages.
#pragma once

#include <string>

#include "client/http_client.h"
#include "once/work.h"

namespace once::work {

// The type of an answer whose body is the handler's effects.
inline constexpr std::string_view kEffectsType = "application/vnd.once.effects+json";

// Each message is a POST, with an Idempotency-Key that all its deliveries share, Once-Fence and
// Once-Attempt. A 2xx completes; anything else is a failure, and so is an answer that does not come
// within `timeout`. `invalid` if `url` is none.
Result<Handler> http_handler(const std::string& url, Duration timeout,
                             client::SharedTls tls = nullptr);

}  // namespace once::work
