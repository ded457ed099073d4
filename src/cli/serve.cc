#include "server/serve.h"

#include <array>

#include "cli/answer.h"
#include "cli/config.h"
#include "cli/invocation.h"
#include "cli/serving_options.h"
#include "cli/target.h"

namespace once::cli::serve_command {
namespace {

Result<void> read_events(const Invocation& invocation, server::ServeOptions& options) {
  if (const auto file = invocation.option("config")) {
    Result<events::EventRoutes> routes = load_routes(*file);
    if (!routes) return std::unexpected(std::move(routes.error()));
    options.events.routes = std::move(*routes);
  }
  return read_count(invocation, "max-forwards", 1'000, options.events.forwards);
}

Result<void> read_bounds(const Invocation& invocation, server::Settings& settings) {
  constexpr Duration kLongest = std::chrono::hours(1);
  std::size_t threads = settings.threads;
  Result<void> ok = read_count(invocation, "threads", 256, threads);
  settings.threads = static_cast<unsigned>(threads);
  if (ok) ok = read_count(invocation, "max-connections", 1'000'000, settings.max_connections);
  if (ok) ok = read_count(invocation, "max-header", 1 << 20, settings.max_header_bytes);
  if (ok) ok = read_count(invocation, "max-body", 64 << 20, settings.max_body_bytes);
  if (ok) ok = read_duration(invocation, "idle-timeout", kLongest, settings.idle);
  if (ok) ok = read_duration(invocation, "receive-timeout", kLongest, settings.receive);
  if (ok) ok = read_duration(invocation, "send-timeout", kLongest, settings.send);
  if (ok) ok = read_duration(invocation, "request-timeout", kAttemptLife, settings.work);
  return ok;
}

Result<void> read_browsers(const Invocation& invocation, server::BrowserRules& rules) {
  for (const std::string& text : invocation.list("allow-origin")) {
    std::optional<server::Origin> origin = server::parse_origin(text);
    if (!origin) {
      return failure(ErrorCode::invalid,
                     "--allow-origin is a list such as https://app.example, not '" + text + "'");
    }
    rules.origins.push_back(std::move(*origin));
  }
  for (const std::string& text : invocation.list("host")) {
    std::optional<server::HostName> host = server::parse_host(text);
    if (!host) {
      return failure(ErrorCode::invalid,
                     "--host is a list such as once.example, not '" + text + "'");
    }
    rules.hosts.push_back(std::move(*host));
  }
  return {};
}

Result<server::ServeOptions> options_of(const Invocation& invocation) {
  server::ServeOptions options;
  Result<std::string> standard = default_store();
  if (!standard && !invocation.option("store")) return std::unexpected(standard.error());
  options.store = invocation.option("store").value_or(standard ? *standard : "");
  options.listen = invocation.option("listen").value_or(options.listen);
  options.open_to_all = invocation.flag("open-to-all");
  options.service.name_space = invocation.option("namespace").value_or("default");
  if (const auto down = invocation.option("if-store-down")) {
    const auto policy = *down == "proceed" ? IfStoreDown::proceed : IfStoreDown::refuse;
    options.service.if_store_down = policy;
    options.events.if_store_down = policy;
  }
  if (Result<void> ok = read_events(invocation, options); !ok) return std::unexpected(ok.error());
  options.version = ONCE_VERSION;
  Result<server::JournalOptions> journal = journal_of(invocation);
  if (!journal) return std::unexpected(std::move(journal.error()));
  options.journal = std::move(*journal);
  Result<void> ok = read_bounds(invocation, options.settings);
  if (ok) ok = read_browsers(invocation, options.settings.browsers);
  constexpr std::size_t kMostTallyBytes = 1U << 30;
  if (ok) {
    ok = read_count(invocation, "max-tally-bytes", kMostTallyBytes, options.service.tally_bytes);
  }
  constexpr Duration kLongestTrust = std::chrono::days(7);
  if (ok) ok = read_duration(invocation, "token-trust", kLongestTrust, options.service.token_trust);
  if (!ok) return std::unexpected(ok.error());
  return options;
}

int run(const Invocation& invocation) {
  return run_server(invocation, options_of(invocation), server::serve);
}

constexpr std::array kOptions = {
    Option{"listen"},
    Option{"host", Option::Kind::list},
    Option{"allow-origin", Option::Kind::list},
    Option{"max-connections"},
    Option{"max-header"},
    Option{"max-body"},
    Option{"max-tally-bytes"},
    Option{"max-forwards"},
    Option{"idle-timeout"},
    Option{"receive-timeout"},
    Option{"send-timeout"},
    Option{"request-timeout"},
    Option{"threads"},
    Option{"token-trust"},
    Option{"log"},
    Option{"open-to-all", Option::Kind::flag},
};
constexpr std::array kVerbs = {Verb{.options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "serve",
    .summary = "Serves the API over HTTP",
    .help =
        R"(Usage: once serve [--store ADDRESS] [--listen 127.0.0.1:7600] [--max-connections 10000]
                  [--config FILE] [--log text|json] [--open-to-all]

Serves the API over HTTP until it is told to stop (TERM or INT): then it takes no further request,
finishes those under way and exits within 5 s. Prints one line with its URL and its store when it is
ready. The store is a directory, or another address; see 'once help'. While a server owns a directory,
commands that are given the directory go through the server.

  --listen HOST:PORT    port 0 chooses one
  --host NAME           a name that callers reach the server by; NAME,NAME for several. A request with
                        a Host that is neither one of them, the address that it listens on nor of
                        loopback (localhost, 127.0.0.1, [::1]) gets 421
  --allow-origin ORIGIN web pages that may call, such as https://app.example; ORIGIN,ORIGIN for
                        several. Requests from pages of any other origin get 403
  --max-connections N   more are answered 503
  --max-header 16384    bytes of a request's line and headers
  --max-body 1048576    bytes of a body; a document may be as large as the store takes
  --max-tally-bytes N   of all tallies that one commit or read needs, 64 MiB without it; more is 413
  --idle-timeout 75s    a connection without a request is closed
  --receive-timeout 30s for a request to arrive whole, else 408
  --send-timeout 30s    for a client to take its answer
  --request-timeout 60s for the store to do a request, beyond what a claim waits; at most 60s
  --token-trust 60s     how long tokens are believed that could not be read from the store again: then
                        everybody is refused (503), because one of them may have been revoked
  --threads N           that read and write; one for each core without it
  --max-forwards 64     events at their handlers at once; four times as many wait, more get 503
  --if-store-down WHAT  proceed: claims and ids are granted, and events passed, without a guard when
                        the store cannot be asked; refuse: 503. Without it, events proceed and
                        everything else is refused
  --log text|json       write a line to standard error for each notable thing: start, stop, refusals,
                        errors, duplicates, and requests whose traceparent is sampled. Without it
                        only warnings and errors are written, as text
  --open-to-all         listen beyond loopback although no token is configured: everybody who reaches
                        the port may do everything. See 'once help token' for the better way

CloudEvents (POST /v1/events) go where the routes of the configuration file say, the first whose type
matches; docs/events.md tells all of it:

  [[route]]
  type    = "build.*"                      # * stands for any text
  forward = "http://127.0.0.1:8080/build"  # a handler; 2xx takes the event
  log     = "builds"                       # a stream
  tally   = "build-count"                  # a count
  ttl     = "24h"                          # how long duplicates are known

Example:
  timeout 1 once serve --listen 127.0.0.1:0 || true
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::serve_command
