#include "aws/credential_chain.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "aws/configuration.h"
#include "aws/credentials.h"
#include "aws/transfers.h"

namespace once::aws {
namespace {

using nlohmann::json;

constexpr std::string_view kContainerHost = "http://169.254.170.2";
constexpr std::string_view kInstanceHost = "http://169.254.169.254";

// Redirects are not followed: they would lead to another machine.
Result<Response> ask(Transfers& transfers, std::string method, std::string url,
                     std::vector<Header> headers, Deadline deadline) {
  Transfer transfer{.method = std::move(method),
                    .url = std::move(url),
                    .headers = std::move(headers),
                    .body = ""};
  transfers.perform(std::span(&transfer, 1), deadline);
  return std::move(transfer.answer);
}

std::unexpected<Error> unavailable(std::string_view who, std::string_view why) {
  return failure(ErrorCode::unavailable,
                 std::string("no keys from the ").append(who).append(": ").append(why));
}

bool number(std::string_view text, int& value) {
  const char* const end = std::to_address(text.end());
  return std::from_chars(std::to_address(text.begin()), end, value).ptr == end;
}

// 2015-08-30T12:36:00Z, with or without a fraction.
std::optional<Time> parse_expiration(std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (text.size() < 20 || text.back() != 'Z' || !number(text.substr(0, 4), year) ||
      !number(text.substr(5, 2), month) || !number(text.substr(8, 2), day) ||
      !number(text.substr(11, 2), hour) || !number(text.substr(14, 2), minute) ||
      !number(text.substr(17, 2), second)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

Result<std::optional<Keys>> keys_in(const Result<Response>& answer, std::string_view who) {
  if (!answer) return unavailable(who, answer.error().message);
  if (answer->status != 200) {
    return unavailable(who, std::string("it answers ").append(std::to_string(answer->status)));
  }
  const json body = json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return unavailable(who, "its answer is no JSON object");
  const auto text = [&](const char* name) {
    const auto at = body.find(name);
    return at != body.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  Keys keys{.access_key_id = text("AccessKeyId"),
            .secret_access_key = text("SecretAccessKey"),
            .session_token = text("Token")};
  const std::optional<Time> expires = parse_expiration(text("Expiration"));
  if (keys.access_key_id.empty() || keys.secret_access_key.empty() || !expires) {
    return unavailable(who, "its answer has no keys, or no expiry");
  }
  keys.expires = *expires;
  return keys;
}

// The host of a URL, without port or brackets.
std::string_view host_in(std::string_view url) {
  url.remove_prefix(std::min(url.find("://") + 3, url.size()));
  url = url.substr(0, url.find_first_of("/?#"));
  if (url.starts_with('[')) return url.substr(1, url.find(']') - 1);
  return url.substr(0, url.find(':'));
}

bool may_be_asked(std::string_view url) {
  if (url.find('@') != std::string_view::npos) return false;
  if (url.starts_with("https://")) return true;
  if (!url.starts_with("http://")) return false;
  const std::string_view host = host_in(url);
  return host == "localhost" || host == "::1" || host == "169.254.170.2" ||
         host == "169.254.170.23" || host == "fd00:ec2::23" ||
         (host.starts_with("127.") &&
          host.find_first_not_of("0123456789.") == std::string_view::npos);
}

bool one_line(std::string_view text) {
  return text.find_first_of("\r\n") == std::string_view::npos &&
         text.find('\0') == std::string_view::npos;
}

// The file is read each time, because it is replaced before its token expires.
Result<std::string> container_token(const Environment& environment) {
  const std::string path = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (!path.empty()) {
    std::optional<std::string> content = file_content(path);
    if (!content) return failure(ErrorCode::unavailable, "cannot read the container's token file");
    token = std::move(*content);
    while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  }
  if (!one_line(token)) return failure(ErrorCode::invalid, "the container's token is not one line");
  return token;
}

// The keys of a container's endpoint; empty if none is configured. Over http only on this machine,
// because the answer is a secret.
Result<std::optional<Keys>> container_keys(const Environment& environment, Transfers& transfers,
                                           Deadline deadline) {
  const std::string relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  std::string url = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative.empty()) url = std::string(kContainerHost).append(relative);
  if (url.empty()) return std::nullopt;
  if (!may_be_asked(url)) {
    return failure(ErrorCode::invalid,
                   "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine");
  }
  Result<std::string> token = container_token(environment);
  if (!token) return std::unexpected(std::move(token.error()));
  std::vector<Header> headers;
  if (!token->empty()) headers.push_back({"Authorization", std::move(*token)});
  return keys_in(ask(transfers, "GET", std::move(url), std::move(headers), deadline),
                 "container's endpoint");
}

// The keys of the instance's role; empty on another machine, or without a role. Version 2 of the
// metadata only: with version 1, any program that can be made to fetch a URL reveals the keys.
Result<std::optional<Keys>> instance_keys(const Environment& environment, Transfers& transfers,
                                          Deadline deadline) {
  constexpr std::string_view kWho = "instance's metadata";
  if (environment("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  std::string host = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (host.empty()) host = kInstanceHost;
  while (host.ends_with('/')) host.pop_back();

  const Result<Response> token = ask(transfers, "PUT", host + "/latest/api/token",
                                     {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}, deadline);
  if (!token && token.error().code == ErrorCode::unavailable) return std::nullopt;
  if (!token) return unavailable(kWho, token.error().message);
  if (token->status != 200 || !one_line(token->body)) {
    return unavailable(kWho, "it gives no token");
  }
  const std::vector<Header> headers = {{"X-aws-ec2-metadata-token", token->body}};
  const std::string roles = host + "/latest/meta-data/iam/security-credentials/";
  const Result<Response> role = ask(transfers, "GET", roles, headers, deadline);
  if (!role) return unavailable(kWho, role.error().message);
  if (role->status == 404) return std::nullopt;
  const std::string name = role->body.substr(0, role->body.find_first_of("\r\n"));
  if (role->status != 200 || name.empty() || name.find_first_of(" /?#") != std::string::npos) {
    return unavailable(kWho, "it names no role");
  }
  return keys_in(ask(transfers, "GET", roles + name, headers, deadline), kWho);
}

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
    if (kept_) return failure(ErrorCode::unavailable, "the source of the keys has none any more");
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
