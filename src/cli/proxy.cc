#include <algorithm>
#include <array>

#include "cli/answer.h"
#include "cli/invocation.h"
#include "cli/serving_options.h"
#include "cli/target.h"
#include "client/url.h"
#include "proxy/serve.h"

namespace once::cli::proxy_command {
namespace {

// Names of headers, in lower case.
Result<std::vector<std::string>> identity_headers_of(const Invocation& invocation) {
  constexpr std::size_t kMost = 16;
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  std::vector<std::string> names = invocation.list("identity-header");
  if (names.size() > kMost) return wrong("--identity-header is given 16 times at most");
  for (std::string& name : names) {
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      if (!is_plain && kMarks.find(c) == std::string_view::npos) {
        return wrong("--identity-header is the name of a header, not '" + name + "'");
      }
    }
  }
  // Their order means nothing, and these are always among them.
  std::erase_if(names, [](const std::string& name) {
    return name == "authorization" || name == "cookie" || name == "x-api-key";
  });
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

Result<void> read_rules(const Invocation& invocation, proxy::Rules& rules) {
  rules.upstream = invocation.option("upstream").value_or("");
  if (!client::parse_url(rules.upstream))
    return wrong("--upstream is http://host:port, or https://host:port");
  Result<std::vector<std::string>> identity_headers = identity_headers_of(invocation);
  if (!identity_headers) return std::unexpected(std::move(identity_headers.error()));
  rules.identity_headers = std::move(*identity_headers);
  rules.require_key = invocation.flag("require-key");
  rules.retry_5xx = invocation.flag("retry-5xx");
  const std::string after = invocation.option("after-unknown").value_or("refuse");
  if (after != "refuse" && after != "retry") return wrong("--after-unknown is refuse or retry");
  if (after == "retry") rules.after_unknown = proxy::AfterUnknown::retry;
  if (invocation.option("if-store-down") == "proceed") rules.if_store_down = IfStoreDown::proceed;
  constexpr std::int64_t kMostBytes = 64 << 20;
  Result<void> ok = read_count(invocation, "max-body", kMostBytes, rules.max_body);
  if (ok) ok = read_count(invocation, "max-answer", kMostBytes, rules.max_answer);
  if (!ok) return ok;
  return read_duration(invocation, "upstream-timeout", proxy::kMaxUpstreamTimeout,
                       rules.upstream_timeout);
}

Result<proxy::ProxyOptions> options_of(const Invocation& invocation) {
  proxy::ProxyOptions options;
  if (Result<void> ok = read_rules(invocation, options.rules); !ok) {
    return std::unexpected(ok.error());
  }
  Result<StorePlace> store = store_or_server(invocation);
  if (!store) return std::unexpected(store.error());
  options.store = std::move(store->address);
  options.trust = std::move(store->trust);
  options.token = invocation.option("token").value_or("");
  options.name_space = invocation.option("namespace").value_or("");
  options.metrics_listen = invocation.option("metrics-listen").value_or("");
  Result<void> ok = read_server_options(invocation, options);
  if (ok) ok = read_count(invocation, "workers", 1'000, options.workers.workers);
  if (ok) ok = read_count(invocation, "slow-readers", 10'000, options.workers.slow_readers);
  if (ok) ok = read_duration(invocation, "ttl", std::chrono::days(3'650), options.ttl);
  if (!ok) return std::unexpected(ok.error());
  return options;
}

int run(const Invocation& invocation) {
  return run_reloadable_server(invocation, options_of, kReloadableServerOptions, proxy::serve);
}

constexpr auto kOptions = joined(kServerOptions, std::array{
                                                     Option{"upstream"},
                                                     Option{"identity-header", Option::Kind::list},
                                                     Option{"require-key", Option::Kind::flag},
                                                     Option{"retry-5xx", Option::Kind::flag},
                                                     Option{"after-unknown"},
                                                     Option{"ttl"},
                                                     Option{"upstream-timeout"},
                                                     Option{"max-body"},
                                                     Option{"max-answer"},
                                                     Option{"workers"},
                                                     Option{"slow-readers"},
                                                     Option{"metrics-listen"},
                                                 });
constexpr std::array kVerbs = {Verb{.options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "proxy",
    .summary = "Replays an upstream's answers to requests with an Idempotency-Key",
    .help =
        R"(Usage: once proxy --upstream http://HOST:PORT [--listen 127.0.0.1:7601] [--store ADDRESS]
                  [--identity-header NAME]... [--require-key] [--retry-5xx]
                  [--after-unknown refuse|retry] [--ttl 24h]

Stands before an HTTP server. Of POST and PATCH requests with an Idempotency-Key (1 to 255
characters, quoted or not) the first is sent, and its answer is stored and replayed, byte for byte but
without Set-Cookie, and with Idempotent-Replayed: true. While it is in flight others get 409; with
another body 422. Keys of two callers (Authorization, Cookie, X-Api-Key), methods, paths or queries
have nothing to do with each other. All other requests pass, and their answers as they come. The
upstream may be https://HOST:PORT (--ca, --client-cert). HUP makes it read its TLS files and limits
again, all or nothing.

Every complete answer is stored but 401, 403, 429 and 503, which free the key, as does a failure
before the first byte was sent. If the answer is lost after that, or the proxy dies, the outcome is
unknown: 502, code unknown, and the request is not sent again until the claim that the answer names is
forgotten ('once claim forget NAME'; on a directory, run 'once serve' there, and proxy and commands
share it).

  --identity-header NAME     a header that tells callers apart, too, such as X-User; may be given more
                             than once. An array in the file: identity-header = ["X-User", "X-Org"]
  --require-key              POST and PATCH without a key are refused (400)
  --retry-5xx                every answer from 500 on frees the key
  --after-unknown retry      an unknown outcome frees the key: a request may take effect twice
  --if-store-down proceed    send without a guard when the store cannot be asked
  --ttl 24h                  how long answers are replayed
  --upstream-timeout 30s     with a key, from connecting to the last byte; without one, between two
                             pieces of the answer. At most 1h
  --max-body 1048576         bytes of the body of a request with a key; without one, 64 MiB
  --max-answer 16777216      bytes of an answer to a request with a key; a longer one, or one that the
                             store does not take, is passed on and not stored: repeats are not sent
                             and get 409, too_large. A server as the store takes about 750 KiB
  --workers 64               requests at the upstream at once; four times as many wait, more get 503
  --slow-readers 256         answers at once that wait for clients that read slowly; they take no
                             workers. More, or more than 3/4 of them of one address, are cut off
  --tls-cert FILE            speak https with this certificate (PEM, with those up to its authority)
  --tls-key FILE             its private key; not needed if it is in the same file
  --tls-client-ca FILE       let in only clients with a certificate of one of these authorities
  --plain-http               listen beyond loopback without TLS, where something before the proxy ends
                             it: refused otherwise
  --max-connections 10000    of clients; more are answered 503
  --max-connections-per-address N    likewise, from one address or one IPv6 network (/64); nine tenths
                             of all without it, and all from loopback
  --handshake-timeout 10s    for a TLS handshake
  --log text|json            write a line to standard error for each notable thing, as 'once serve'
  --metrics-listen HOST:PORT answer GET /metrics and /healthz there, with the same certificate; the
                             other port is the upstream's

It listens where it is told, and has no tokens: who may do what is for the upstream to say.

Example:
  timeout 1 once proxy --upstream http://127.0.0.1:8080 --listen 127.0.0.1:0 || true
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::proxy_command
