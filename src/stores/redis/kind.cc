// redis://USER:PASSWORD@HOST:PORT/DATABASE?timeout=SECONDS&connections=N
// rediss://… the same over TLS, and ca=FILE
#include <utility>

#include "base/encoding.h"
#include "kernel/store_kind.h"
#include "once/redis_store.h"

namespace once {
namespace {

std::unexpected<Error> no_address() {
  return failure(ErrorCode::invalid,
                 "an address of Redis is redis://HOST:PORT/DATABASE, or "
                 "redis://USER:PASSWORD@HOST:PORT/DATABASE with what is not a letter or digit as "
                 "%XX");
}

bool set_user(RedisOptions& options, std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  std::optional<std::string> user = percent_decode(text.substr(0, colon));
  std::optional<std::string> password = percent_decode(text.substr(colon + 1));
  if (!user || !password || password->empty()) return false;
  options.user = std::move(*user);
  options.password = std::move(*password);
  return true;
}

// HOST, HOST:PORT or [ADDRESS]:PORT.
bool set_server(RedisOptions& options, std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const std::size_t colon = text.find(':', bracket);
  const std::string_view host = text.substr(0, colon);
  options.host = bracket > 0 ? host.substr(1, bracket - 1) : host;
  if (colon == std::string_view::npos) return !options.host.empty();
  const std::optional<std::int64_t> port = whole_number(text.substr(colon + 1));
  if (!port || *port < 1 || *port > UINT16_MAX) return false;
  options.port = static_cast<std::uint16_t>(*port);
  return !options.host.empty();
}

bool set_place(RedisOptions& options, std::string_view place) {
  if (!place.starts_with("//")) return false;
  place.remove_prefix(2);
  const std::size_t at = place.rfind('@');
  if (at != std::string_view::npos && !set_user(options, place.substr(0, at))) return false;
  if (at != std::string_view::npos) place.remove_prefix(at + 1);
  const std::size_t slash = place.find('/');
  if (!set_server(options, place.substr(0, slash))) return false;
  if (slash == std::string_view::npos || slash + 1 == place.size()) return true;
  const std::optional<std::int64_t> database = whole_number(place.substr(slash + 1));
  if (!database || *database > INT32_MAX) return false;
  options.database = static_cast<int>(*database);
  return true;
}

constexpr std::string_view kOptions =
    "redis has the options timeout (in seconds) and connections (1 to 1000), and rediss also ca (a "
    "file)";

bool set_option(RedisOptions& options, std::string_view name, const std::string& value) {
  if (name == "ca" && options.tls && !value.empty()) {
    options.ca_file = value;
    return true;
  }
  return set_server_option(options, name, value);
}

// Messages never have the password.
Result<RedisOptions> options_of(const Address& address) {
  RedisOptions options{.tls = address.scheme == "rediss"};
  if (!set_place(options, address.place)) return no_address();
  return with_options(address, std::move(options), kOptions, set_option);
}

Result<std::unique_ptr<Store>> open_at(const Address& address, const OpenOptions& /*options*/) {
  const Result<RedisOptions> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return open_redis(*options);
}

}  // namespace

StoreKind redis_kind() {
  return {.scheme = "redis",
          .other_scheme = "rediss",
          .example = "redis://host:port/0",
          .description = "a Redis server or cluster, shared by any number of processes",
          .open = open_at};
}

}  // namespace once
