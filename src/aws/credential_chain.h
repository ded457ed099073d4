// Keys from where Amazon's own tools look for them, in their order:
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN;
//   2. the profile AWS_PROFILE, or default, in ~/.aws/credentials and ~/.aws/config
//      (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE);
//   3. the endpoint of a container (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI);
//   4. the metadata of an instance, version 2, unless AWS_EC2_METADATA_DISABLED is true.
// The first that has something is kept to. Profiles that assume a role, sign on elsewhere or run a
// program are refused as unsupported, and so is a web identity.
#pragma once

#include <memory>

#include "aws/credentials.h"
#include "aws/environment.h"

namespace once::aws {

struct ChainOptions {
  Environment environment = process_environment();
  Clock* clock = &system_clock();  // Must outlive the credentials.
};

// Nothing is read before the first keys are asked for.
std::shared_ptr<Credentials> default_credentials(ChainOptions options = {});

}  // namespace once::aws
