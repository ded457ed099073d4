// What Amazon's tools are configured by: variables, and the files ~/.aws/config and
// ~/.aws/credentials with their named profiles.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace once::aws {

// The value of a variable; "" if it is not set. Injected, so that tests have their own.
using Environment = std::function<std::string(const std::string& name)>;

// This process's own.
Environment process_environment();

// The endpoint of a service such as "sqs": AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL, or Amazon's own
// in that region.
std::string endpoint_in(const Environment& environment, const std::string& service,
                        const std::string& region);

// Empty if the file does not exist or has more than a megabyte.
std::optional<std::string> file_content(const std::string& path);

// Names in lower case.
using Profile = std::map<std::string, std::string>;

enum class ProfileFile {
  config,       // Profiles are [default] and [profile NAME].
  credentials,  // Profiles are [NAME].
};

// Skips sections that are no profiles, and settings nested within a setting.
std::map<std::string, Profile> parse_profiles(std::string_view text, ProfileFile kind);

// AWS_PROFILE, or "default".
std::string profile_name(const Environment& environment);

// Both files' settings of that profile; those of the credentials file win. Empty if it is in
// neither.
std::optional<Profile> shared_profile(const Environment& environment, const std::string& name);

// AWS_REGION, AWS_DEFAULT_REGION or the profile's; "" if none is set.
std::string configured_region(const Environment& environment);

}  // namespace once::aws
