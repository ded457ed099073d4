// The files that Amazon's tools share: ~/.aws/config and ~/.aws/credentials, with named profiles.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "aws/environment.h"

namespace once::aws {

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
