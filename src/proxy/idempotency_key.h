// The key that a client gave its request, and the name of their claim.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "once/error.h"
#include "wire/message.h"

namespace once::proxy {

inline constexpr std::size_t kMaxKey = 255;  // Characters.

// Of `Idempotency-Key`, quoted as a string of RFC 8941 or not: "a" and a are one key. Nothing if
// there is none. `invalid`: twice, empty, too long, half quoted, or not printable ASCII.
Result<std::optional<std::string>> key_of(const api::Headers& headers);

// `proxy/SCOPE/KEY`. The scope is a digest of method, path and query and of the headers that say
// who asks: Authorization, Cookie, X-Api-Key and `identity_headers`. So keys of two callers, or for
// two resources, have nothing to do with each other, and no secret is stored.
std::string claim_name(const api::Request& request, std::string_view key,
                       std::span<const std::string> identity_headers = {});

}  // namespace once::proxy
