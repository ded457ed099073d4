// Looks for keys where Amazon's own tools do, in the same order:
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN;
//   2. the profile AWS_PROFILE, or default, in ~/.aws/credentials and ~/.aws/config
//      (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE);
//   3. the endpoint of a container (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI);
//   4. the metadata of an instance, version 2, unless AWS_EC2_METADATA_DISABLED is true.
// The first source with keys is used from then on. Profiles that assume a role, use single sign-on
// or run a program are `unsupported`, and so is a web identity.
#pragma once

#include <memory>

#include "aws/configuration.h"
#include "aws/credentials.h"

namespace once::aws {

struct ChainOptions {
  Environment environment = process_environment();
  Clock* clock = &system_clock();  // Must outlive the credentials.
};

// Reads nothing before the first call of keys().
std::shared_ptr<Credentials> default_credentials(ChainOptions options = {});

}  // namespace once::aws
