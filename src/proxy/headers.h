// Which headers a proxy passes on: all but those that are about one connection (RFC 9110, section
// 7.6.1) and those that the next connection writes anew.
#pragma once

#include "wire/message.h"

namespace once::proxy {

bool same_name(std::string_view a, std::string_view b);  // Case does not matter.

// Of a request on its way to the upstream. `Host` is the upstream's, and written anew.
api::Headers towards_upstream(const api::Headers& headers);

// Of an answer to a request of `method`. HEAD tells a length without a body, and keeps it.
// Of an answer that is sent as it comes: its length, if that is known, is the upstream's.
api::Headers with_length(const api::Headers& headers);

api::Headers towards_client(const api::Headers& headers, std::string_view method);

// Of an answer that is stored or replayed: without Set-Cookie, which was for one caller once.
api::Headers without_cookies(const api::Headers& headers);

}  // namespace once::proxy
