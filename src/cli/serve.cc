#include "server/serve.h"

#include <array>

#include "cli/answer.h"
#include "cli/config.h"
#include "cli/invocation.h"
#include "cli/serving_options.h"
#include "cli/target.h"

namespace once::cli::serve_command {
namespace {

Result<void> read_file(const Invocation& invocation, server::ServeOptions& options) {
  if (const auto file = invocation.option("config")) {
    Result<events::EventRoutes> routes = load_routes(*file);
    if (!routes) return std::unexpected(std::move(routes.error()));
    options.events.routes = std::move(*routes);
    Result<api::Quotas> quotas = load_quotas(*file);
    if (!quotas) return std::unexpected(std::move(quotas.error()));
    options.service.quotas = std::move(*quotas);
  }
  return read_count(invocation, "max-forwards", 1'000, options.events.forwards);
}

Result<void> read_bounds(const Invocation& invocation, server::Settings& settings) {
  constexpr Duration kLongest = std::chrono::hours(1);
  constexpr std::int64_t kMostHeld = std::int64_t{1} << 40;
  std::size_t threads = settings.threads;
  Result<void> ok = read_count(invocation, "threads", 256, threads);
  settings.threads = static_cast<unsigned>(threads);
  if (ok) ok = read_count(invocation, "max-header", 1 << 20, settings.max_header_bytes);
  if (ok) ok = read_count(invocation, "max-body", 64 << 20, settings.max_body_bytes);
  if (ok) ok = read_count(invocation, "max-bodies", kMostHeld, settings.max_bodies_bytes);
  if (ok) ok = read_count(invocation, "max-unsent", kMostHeld, settings.max_unsent_bytes);
  std::size_t share = settings.namespace_share;
  if (ok) ok = read_count(invocation, "namespace-share", 100, share);
  settings.namespace_share = static_cast<unsigned>(share);
  if (ok) ok = read_count(invocation, "max-waits", 1'000'000, settings.max_waiting_of_namespace);
  if (ok) ok = read_count(invocation, "long-work-threads", 256, settings.long_work_threads);
  if (ok) {
    ok = read_count(invocation, "max-long-work", 1'000'000, settings.max_long_work_of_namespace);
  }
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

Result<void> read_idle_exit(const Invocation& invocation, server::ServeOptions& options) {
  if (!invocation.option("exit-when-idle")) return {};
  constexpr Duration kLongest = std::chrono::days(7);
  return read_duration(invocation, "exit-when-idle", kLongest, options.exit_when_idle.emplace());
}

Result<server::ServeOptions> options_of(const Invocation& invocation) {
  server::ServeOptions options;
  Result<std::string> standard = default_store();
  if (!standard && !invocation.option("store")) return std::unexpected(standard.error());
  options.store = invocation.option("store").value_or(standard ? *standard : "");
  options.open_to_all = invocation.flag("open-to-all");
  options.service.name_space = invocation.option("namespace").value_or("default");
  if (const auto down = invocation.option("if-store-down")) {
    const auto policy = *down == "proceed" ? IfStoreDown::proceed : IfStoreDown::refuse;
    options.service.if_store_down = policy;
    options.events.if_store_down = policy;
  }
  if (Result<void> ok = read_file(invocation, options); !ok) return std::unexpected(ok.error());
  Result<void> ok = read_server_options(invocation, options);
  if (ok) ok = read_bounds(invocation, options.settings);
  if (ok) ok = read_browsers(invocation, options.settings.browsers);
  if (ok) ok = read_idle_exit(invocation, options);
  constexpr std::size_t kMostTallyBytes = 1U << 30;
  if (ok) {
    ok = read_count(invocation, "max-tally-bytes", kMostTallyBytes, options.service.tally_bytes);
  }
  if (ok) ok = read_duration(invocation, "count-every", std::chrono::days(1), options.count_every);
  constexpr Duration kLongestTrust = std::chrono::days(7);
  if (ok) ok = read_duration(invocation, "token-trust", kLongestTrust, options.service.token_trust);
  constexpr Duration kLongestKept = std::chrono::years(10);
  if (ok) {
    ok = read_duration(invocation, "keep-abandoned", kLongestKept, options.service.keep_abandoned);
  }
  if (ok && invocation.option("default-ttl")) {
    ok = read_duration(invocation, "default-ttl", kLongestKept,
                       options.service.default_ttl.emplace());
  }
  if (ok) ok = read_duration(invocation, "sweep-every", std::chrono::days(1), options.sweep_every);
  if (!ok) return std::unexpected(ok.error());
  return options;
}

// What SIGHUP may change.
constexpr auto kReloadable =
    joined(kReloadableServerOptions,
           std::array<std::string_view, 13>{"host", "allow-origin", "max-header", "max-body",
                                            "max-bodies", "max-unsent", "max-tally-bytes",
                                            "namespace-share", "idle-timeout", "receive-timeout",
                                            "send-timeout", "request-timeout", "token-trust"});

int run(const Invocation& invocation) {
  return run_reloadable_server(invocation, options_of, kReloadable, server::serve);
}

constexpr auto kOptions = joined(kServerOptions, std::array{
                                                     Option{"host", Option::Kind::list},
                                                     Option{"allow-origin", Option::Kind::list},
                                                     Option{"max-header"},
                                                     Option{"max-body"},
                                                     Option{"max-bodies"},
                                                     Option{"max-unsent"},
                                                     Option{"namespace-share"},
                                                     Option{"max-tally-bytes"},
                                                     Option{"max-forwards"},
                                                     Option{"max-waits"},
                                                     Option{"max-long-work"},
                                                     Option{"long-work-threads"},
                                                     Option{"idle-timeout"},
                                                     Option{"receive-timeout"},
                                                     Option{"send-timeout"},
                                                     Option{"request-timeout"},
                                                     Option{"threads"},
                                                     Option{"token-trust"},
                                                     Option{"count-every"},
                                                     Option{"keep-abandoned"},
                                                     Option{"default-ttl"},
                                                     Option{"sweep-every"},
                                                     Option{"open-to-all", Option::Kind::flag},
                                                     Option{"exit-when-idle"},
                                                 });
constexpr std::array kVerbs = {Verb{.options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "serve",
    .summary = "Serves the API over HTTP",
    .help =
        R"(Usage: once serve [--store ADDRESS] [--listen 127.0.0.1:7600] [--max-connections 10000]
                  [--tls-cert FILE --tls-key FILE [--tls-client-ca FILE]] [--config FILE]
                  [--log text|json] [--open-to-all]

Serves the API over HTTP until it is told to stop (TERM or INT): then it takes no further request,
finishes those under way and exits within 5 s. HUP makes it read its TLS files, its configuration and
its tokens again, all or nothing: certificates, routes, names and limits may change so, and the log
says what did. Prints one line with its URL and its store when it is ready. In a browser that URL is
the console, which shows what the store holds and mends what is stuck. The store is a directory, or
another address; see 'once help'. While a server owns a directory, commands that are given the
directory go through the server.

  --listen HOST:PORT    port 0 chooses one
  --host NAME           a name that callers reach the server by; NAME,NAME for several. A request with
                        a Host that is neither one of them, the address that it listens on nor of
                        loopback (localhost, 127.0.0.1, [::1]) gets 421
  --allow-origin ORIGIN web pages that may call, such as https://app.example; ORIGIN,ORIGIN for
                        several. Requests from pages of any other origin get 403
  --tls-cert FILE       speak https with this certificate (PEM, with those up to its authority)
  --tls-key FILE        its private key; not needed if it is in the same file
  --tls-client-ca FILE  let in only clients with a certificate of one of these authorities
  --plain-http          listen beyond loopback without TLS, where something before the server ends it:
                        refused otherwise
  --max-connections N   more are answered 503; 10000 without it
  --max-connections-per-address N
                        likewise, from one address or one IPv6 network (/64); nine tenths of all
                        without it, and all from loopback
  --handshake-timeout 10s  for a TLS handshake
  --max-header 16384    bytes of a request's line and headers
  --max-body 1048576    bytes of a body; a document may be as large as the store takes
  --max-bodies N        bytes of large bodies that are held at once, 256 MiB without it; more get 503
  --max-unsent N        bytes of answers that clients have not read yet, 256 MiB without it. Beyond
                        half of it each connection has one request at a time; beyond all of it long
                        answers become 503, or 500 unknown if something was written
  --namespace-share 75  percent of bodies, unread answers and events at their handlers that one
                        namespace may take while no other does, and less while others do
  --keep-abandoned 7d   how long a claim is kept after its lease when nobody completes it
  --default-ttl 24h     how long outcomes and seen ids are kept whose request does not say
  --sweep-every 5m      how often expired items are removed; they count as absent before that, too
  --max-tally-bytes N   of all tallies that one commit or read needs, 64 MiB without it; more is 413
  --max-waits 2500      requests of one namespace that wait for a claim at once; more are told at once
                        that it is busy
  --max-long-work 256   large reads, merges, patches and listings of one namespace that wait for their
                        turn; more get 503
  --long-work-threads N for these; one for each core, and at least 3, without it
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
  --exit-when-idle 60s  stop once nobody has asked anything for so long. Several that are started at
                        once on one directory agree on one; the others print its URL and exit with 0
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

Namespaces may have quotas there. Beyond one, requests get 429 and Retry-After:

  [namespace.acme]
  keys                = 1_000_000          # items in the store
  bytes               = 10_000_000_000     # of keys and values
  requests_per_second = 500
  [namespace."*"]                          # each that is not listed; requests_per_second only
  requests_per_second = 100

  --count-every 5m      how often it is counted what namespaces have, and what expired in logs that
                        nobody calls is freed. Where the store is a server, without a quota: daily

Example:
  timeout 1 once serve --listen 127.0.0.1:0 || true
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::serve_command
