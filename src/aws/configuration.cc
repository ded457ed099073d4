#include "aws/configuration.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "aws/message.h"

namespace once::aws {
namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Up to a comment, which a blank precedes.
std::string_view without_comment(std::string_view value) {
  for (std::size_t i = 1; i < value.size(); ++i) {
    if ((value[i] == '#' || value[i] == ';') && blank(value[i - 1])) return value.substr(0, i);
  }
  return value;
}

// The profile that "[...]" opens; nothing if it opens something else.
std::optional<std::string> profile_of(std::string_view line, ProfileFile kind) {
  const std::size_t end = line.find(']');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view name = trimmed(line.substr(1, end - 1));
  constexpr std::string_view kPrefix = "profile";
  if (kind == ProfileFile::config && name != "default") {
    if (!name.starts_with(kPrefix)) return std::nullopt;
    name.remove_prefix(kPrefix.size());
    if (name.empty() || !blank(name.front())) return std::nullopt;
    name = trimmed(name);
  }
  return std::string(name);
}

std::string file_named(const Environment& environment, const char* variable, const char* in_home) {
  std::string path = environment(variable);
  if (!path.empty()) return path;
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + in_home;
}

void add_profile(Profile& to, const std::string& path, ProfileFile kind, const std::string& name,
                 bool& found) {
  const std::optional<std::string> text = path.empty() ? std::nullopt : file_content(path);
  if (!text) return;
  const std::map<std::string, Profile> profiles = parse_profiles(*text, kind);
  const auto of = profiles.find(name);
  if (of == profiles.end()) return;
  found = true;
  for (const auto& [setting, value] : of->second) to[setting] = value;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    return std::string(value == nullptr ? "" : value);
  };
}

std::string endpoint_in(const Environment& environment, const std::string& service,
                        const std::string& region) {
  std::string own = "AWS_ENDPOINT_URL_";
  for (const char c : service) own += static_cast<char>(std::toupper(c));
  for (const std::string& name : {own, std::string("AWS_ENDPOINT_URL")}) {
    if (std::string named = environment(name); !named.empty()) return named;
  }
  std::string endpoint = "https://";
  return endpoint.append(service).append(".").append(region).append(".amazonaws.com");
}

std::optional<std::string> file_content(const std::string& path) {
  constexpr std::size_t kLimit = 1U << 20U;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string content(kLimit + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (file.bad() || std::cmp_greater(file.gcount(), kLimit)) return std::nullopt;
  content.resize(static_cast<std::size_t>(file.gcount()));
  return content;
}

std::map<std::string, Profile> parse_profiles(std::string_view text, ProfileFile kind) {
  std::map<std::string, Profile> profiles;
  Profile* open = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trimmed(line).empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      const std::optional<std::string> name = profile_of(line, kind);
      open = name ? &profiles[*name] : nullptr;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (open == nullptr || blank(line.front()) || equals == std::string_view::npos) continue;
    (*open)[lowered(trimmed(line.substr(0, equals)))] =
        std::string(trimmed(without_comment(line.substr(equals + 1))));
  }
  return profiles;
}

std::string profile_name(const Environment& environment) {
  std::string name = environment("AWS_PROFILE");
  if (name.empty()) name = "default";
  return name;
}

std::optional<Profile> shared_profile(const Environment& environment, const std::string& name) {
  Profile profile;
  bool found = false;
  add_profile(profile, file_named(environment, "AWS_CONFIG_FILE", "/.aws/config"),
              ProfileFile::config, name, found);
  add_profile(profile, file_named(environment, "AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials"),
              ProfileFile::credentials, name, found);
  if (!found) return std::nullopt;
  return profile;
}

std::string configured_region(const Environment& environment) {
  for (const char* variable : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    std::string region = environment(variable);
    if (!region.empty()) return region;
  }
  std::optional<Profile> profile = shared_profile(environment, profile_name(environment));
  return profile ? (*profile)["region"] : "";
}

}  // namespace once::aws
