// The commands that serve: their options, which are numbers and durations within bounds and --log,
// and how they run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/invocation.h"
#include "cli/target.h"
#include "once/time.h"
#include "server/journal.h"
#include "server/server.h"

namespace once::cli {

// Each sets `value` if the option was given. `invalid`: what was given is not one, or out of
// bounds.
Result<void> read_count(const Invocation& invocation, std::string_view name, std::int64_t most,
                        std::size_t& value);
Result<void> read_duration(const Invocation& invocation, std::string_view name, Duration most,
                           Duration& value);

// A line on standard output, at once.
void announce(const std::string& line);

// What --log asks for, to standard error. Without the option, what is at least a warning, as text.
Result<server::JournalOptions> journal_of(const Invocation& invocation);

// --tls-cert, --tls-key and --tls-client-ca.
net::TlsFiles tls_files(const Invocation& invocation);

// What a connection may take, as both kinds of server have it.
Result<void> read_connections(const Invocation& invocation, server::Settings& settings);

// Reads the arguments, the environment and the file again. `invalid` if they are wrong, or if an
// option has changed that is not among `reloadable`. Sets `changed` and `taken`.
using Names = std::span<const std::string_view>;
Result<Invocation> parse_again(const Invocation& now, Names reloadable);
std::vector<std::string> changes(const Invocation& now, const Invocation& fresh);

// What 'once serve' and 'once proxy' take alike, and which of that SIGHUP may change.
inline constexpr std::array kServerOptions = {Option{"listen"},
                                              Option{"tls-cert"},
                                              Option{"tls-key"},
                                              Option{"tls-client-ca"},
                                              Option{"plain-http", Option::Kind::flag},
                                              Option{"max-connections"},
                                              Option{"max-connections-per-address"},
                                              Option{"handshake-timeout"},
                                              Option{"log"}};
inline constexpr std::array<std::string_view, 6> kReloadableServerOptions = {
    "tls-cert",
    "tls-key",
    "tls-client-ca",
    "max-connections",
    "max-connections-per-address",
    "handshake-timeout"};

// Both lists as one.
template <class T, std::size_t N, std::size_t M>
constexpr std::array<T, N + M> joined(const std::array<T, N>& first,
                                      const std::array<T, M>& second) {
  std::array<T, N + M> both{};
  std::ranges::copy(second, std::ranges::copy(first, both.begin()).out);
  return both;
}

// What kServerOptions say.
template <class Options>
Result<void> read_server_options(const Invocation& invocation, Options& options) {
  options.listen = invocation.option("listen").value_or(options.listen);
  options.tls = tls_files(invocation);
  options.plain_http = invocation.flag("plain-http");
  options.client_tls = client_files(invocation);
  options.version = ONCE_VERSION;
  Result<server::JournalOptions> journal = journal_of(invocation);
  if (!journal) return std::unexpected(std::move(journal.error()));
  options.journal = std::move(*journal);
  return read_connections(invocation, options.settings);
}

template <class Options>
std::function<Result<Options>()> reader(const Invocation& started,
                                        Result<Options> (*read)(const Invocation&),
                                        Names reloadable) {
  return [now = std::make_shared<Invocation>(started), read, reloadable]() -> Result<Options> {
    Result<Invocation> fresh = parse_again(*now, reloadable);
    if (!fresh) return std::unexpected(std::move(fresh.error()));
    Result<Options> options = read(*fresh);
    if (!options) return options;
    options->changed = changes(*now, *fresh);
    options->taken = [now, fresh = std::move(*fresh)] { *now = fresh; };
    return options;
  };
}

// Serves until it is told to stop. What it says when it is ready goes to standard output.
template <class Options, class Serve>
int run_server(const Invocation& invocation, const Result<Options>& options, Serve serve) {
  if (!options) return print_error(invocation, options.error());
  const Result<void> served = serve(*options, announce);
  return served ? kDone : print_error(invocation, served.error());
}

// The same; SIGHUP reads the options again, of which `reloadable` may have changed.
template <class Options, class Serve>
int run_reloadable_server(const Invocation& invocation, Result<Options> (*read)(const Invocation&),
                          Names reloadable, Serve serve) {
  Result<Options> options = read(invocation);
  if (options) options->read_again = reader(invocation, read, reloadable);
  return run_server(invocation, options, serve);
}

}  // namespace once::cli
