// The source of configuration, variables and files. Injected, so that tests have their own.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace once::aws {

// The value of a variable; "" if it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// This process's own.
Environment process_environment();

// The endpoint of a service such as "sqs": AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL, or Amazon's own
// in that region.
std::string endpoint_in(const Environment& environment, const std::string& service,
                        const std::string& region);

// Empty if the file does not exist or has more than a megabyte.
std::optional<std::string> file_content(const std::string& path);

}  // namespace once::aws
