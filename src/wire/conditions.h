// The headers that make a request conditional (RFC 9110, section 13) or idempotent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "wire/message.h"

namespace once::wire {

// The value of If-Match or If-None-Match: anything that exists, or a list. ETags are without their
// quotes; a weak one keeps its "W/", because it is equal to no ETag of ours.
struct Etags {
  bool any = false;
  std::vector<std::string> list;
};

// Nothing if the header is missing, `invalid` if it is not a list of ETags. One of ours may lack
// its quotes, because a shell removes them.
Result<std::optional<Etags>> etags_in(const Headers& headers, std::string_view name);

// The one ETag that a change insists on. `invalid` for "*" and for several: nothing is changed
// without having been read.
Result<std::optional<std::string>> if_match_in(const Headers& headers);

// The comparison of If-None-Match: weak ETags count, too.
bool matches_weakly(const Etags& etags, std::string_view etag);

// Whether it can be sent in a header.
bool is_content_type(std::string_view text);

std::string quoted_etag(std::string_view etag);
std::string_view unquoted(std::string_view text);  // Unchanged if it has no quotes.

// The Idempotency-Key, without quotes; empty if the header is missing.
Result<std::string> idempotency_key(const Headers& headers);

}  // namespace once::wire
