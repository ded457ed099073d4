// Amazon's Signature Version 4, as in its "Signing AWS API requests".
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

// The headers to add to the request: X-Amz-Date, what the keys and the service need, and
// Authorization, which covers all of them. `host` is the value of the Host header.
std::vector<Header> sign(const Request& request, std::string_view host, const Keys& keys,
                         const Scope& scope, Time now);

// The text that the signature hashes.
std::string canonical_request(const Request& request, const Scope& scope);

}  // namespace once::aws
