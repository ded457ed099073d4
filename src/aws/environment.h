// Where configuration comes from: variables and files, injected so that tests have their own.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace once::aws {

// The value of a variable; "" if it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// This process's own.
Environment process_environment();

// Where a service is, "dynamodb" or "sqs": AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL, or Amazon's own
// in that region.
std::string endpoint_in(const Environment& environment, const std::string& service,
                        const std::string& region);

// Nothing if there is no such file, or if it has more than a megabyte.
std::optional<std::string> file_content(const std::string& path);

}  // namespace once::aws
