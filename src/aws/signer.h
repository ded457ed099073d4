// Amazon's Signature Version 4, as its "Signing AWS API requests" describes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aws/credentials.h"
#include "aws/message.h"

namespace once::aws {

struct Scope {
  std::string region;
  std::string service;  // "dynamodb"; for "s3" the rules about paths and the body's hash differ.
};

// The headers to send besides the request's own: X-Amz-Date, what the keys and the service ask
// for, and Authorization, which covers all of them. `host` is the Host header that goes out.
std::vector<Header> sign(const Request& request, std::string_view host, const Keys& keys,
                         const Scope& scope, Time now);

// The text that the signature hashes.
std::string canonical_request(const Request& request, const Scope& scope);

// Percent-encodes everything but unreserved characters (RFC 3986), in upper case.
std::string percent_encoded(std::string_view text);

}  // namespace once::aws
