#include "aws/credential_chain.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "aws/metadata.h"
#include "aws/profiles.h"
#include "aws/transfers.h"

namespace once::aws {
namespace {

// Where there is no such service, packets to it are dropped without an answer.
constexpr Duration kConnectTimeout = std::chrono::seconds(1);
constexpr Duration kLongestFetch = std::chrono::seconds(5);

Result<std::optional<Keys>> whole(Keys keys, const std::string& where) {
  if (keys.access_key_id.empty() && keys.secret_access_key.empty()) return std::nullopt;
  if (keys.access_key_id.empty() || keys.secret_access_key.empty()) {
    return failure(ErrorCode::denied, where + " has one half of a pair of keys");
  }
  return keys;
}

Result<std::optional<Keys>> environment_keys(const Environment& environment) {
  return whole({.access_key_id = environment("AWS_ACCESS_KEY_ID"),
                .secret_access_key = environment("AWS_SECRET_ACCESS_KEY"),
                .session_token = environment("AWS_SESSION_TOKEN")},
               "the environment");
}

Result<std::optional<Keys>> profile_keys(const Environment& environment) {
  const std::string name = profile_name(environment);
  std::optional<Profile> profile = shared_profile(environment, name);
  if (!profile) {
    if (environment("AWS_PROFILE").empty()) return std::nullopt;
    return failure(ErrorCode::denied, "there is no profile '" + name + "' in the shared files");
  }
  Result<std::optional<Keys>> keys =
      whole({.access_key_id = (*profile)["aws_access_key_id"],
             .secret_access_key = (*profile)["aws_secret_access_key"],
             .session_token = (*profile)["aws_session_token"]},
            "the profile '" + name + "'");
  if (!keys || *keys) return keys;
  for (const char* setting : {"role_arn", "credential_process", "sso_session", "sso_start_url",
                              "web_identity_token_file"}) {
    if (!profile->contains(setting)) continue;
    return failure(ErrorCode::unsupported,
                   "the profile '" + name + "' has " + setting + ", which Once cannot use");
  }
  return std::nullopt;
}

// Used by one thread at a time.
class Chain {
 public:
  explicit Chain(ChainOptions options)
      : environment_(std::move(options.environment)),
        transfers_({.connect_timeout = kConnectTimeout,
                    .connections = 1,
                    .response_limit = 1U << 20U,
                    .ca_file = "",
                    .may_use_proxy = false},
                   *options.clock) {}

  Result<Keys> fetch(Deadline deadline) {
    deadline = std::min(deadline, std::chrono::steady_clock::now() + kLongestFetch);
    for (const Source source : {Source::environment, Source::profile, Source::web_identity,
                                Source::container, Source::instance}) {
      if (kept_ && *kept_ != source) continue;
      Result<std::optional<Keys>> keys = from(source, deadline);
      if (!keys) return std::unexpected(std::move(keys.error()));
      if (!*keys) continue;
      kept_ = source;
      return std::move(**keys);
    }
    if (kept_) return failure(ErrorCode::unavailable, "where keys came from there are none now");
    return failure(ErrorCode::denied,
                   "no keys in the environment, in the shared files, from a container or from an "
                   "instance's metadata");
  }

 private:
  enum class Source { environment, profile, web_identity, container, instance };

  Result<std::optional<Keys>> from(Source source, Deadline deadline) {
    switch (source) {
      case Source::environment: return environment_keys(environment_);
      case Source::profile: return profile_keys(environment_);
      case Source::web_identity:
        if (environment_("AWS_WEB_IDENTITY_TOKEN_FILE").empty()) return std::nullopt;
        return failure(ErrorCode::unsupported,
                       "AWS_WEB_IDENTITY_TOKEN_FILE is set, which Once cannot use");
      case Source::container: return container_keys(environment_, transfers_, deadline);
      case Source::instance: return instance_keys(environment_, transfers_, deadline);
    }
    return std::nullopt;
  }

  const Environment environment_;
  Transfers transfers_;
  std::optional<Source> kept_;
};

}  // namespace

std::shared_ptr<Credentials> default_credentials(ChainOptions options) {
  Clock& clock = *options.clock;
  auto chain = std::make_shared<Chain>(std::move(options));
  return refreshing_credentials(
      [chain = std::move(chain)](Deadline deadline) { return chain->fetch(deadline); }, clock);
}

}  // namespace once::aws
