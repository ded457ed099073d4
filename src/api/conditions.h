// The headers that make a request conditional (RFC 9110, section 13) or known again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/message.h"
#include "once/error.h"

namespace once::api {

// What If-Match or If-None-Match says: anything that exists, or these. An ETag is without its
// quotes; a weak one keeps its mark, for it is equal to no ETag of ours.
struct Etags {
  bool any = false;
  std::vector<std::string> list;
};

// Nothing if the header is not there, `invalid` if it is no list of ETags. One of ours may come
// without its quotes, which a shell likes to eat.
Result<std::optional<Etags>> etags_in(const Headers& headers, std::string_view name);

// The one ETag that a change insists on. `invalid` for "*" and for several: nothing is changed
// unseen.
Result<std::optional<std::string>> if_match_in(const Headers& headers);

// As If-None-Match compares: weak or not.
bool matches_weakly(const Etags& etags, std::string_view etag);

// Whether it can be sent in a header.
bool is_content_type(std::string_view text);

std::string quoted_etag(std::string_view etag);
std::string_view unquoted(std::string_view text);  // As it is if it has no quotes.

// The Idempotency-Key, without quotes; empty if there is none.
Result<std::string> idempotency_key(const Headers& headers);

}  // namespace once::api
