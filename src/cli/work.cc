#include "work/door/serve.h"

#include <unistd.h>

#include <array>

#include "cli/answer.h"
#include "cli/invocation.h"
#include "cli/serving_options.h"
#include "cli/target.h"

namespace once::cli::work_command {
namespace {

std::string owner_of(const Invocation& invocation) {
  if (const auto owner = invocation.option("owner")) return *owner;
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return std::string(host.data()).append(":").append(std::to_string(::getpid()));
}

Result<void> read_worker(const Invocation& invocation, WorkerOptions& worker) {
  auto attempts = static_cast<std::size_t>(worker.max_attempts);
  Result<void> ok = read_count(invocation, "concurrency", 1'000, worker.concurrency);
  if (ok) ok = read_count(invocation, "max-attempts", 1'000'000, attempts);
  worker.max_attempts = static_cast<std::int64_t>(attempts);
  // What a broker hides a message for, at most.
  if (ok) ok = read_duration(invocation, "lease", std::chrono::hours(12), worker.lease);
  if (ok) ok = read_duration(invocation, "ttl", std::chrono::days(3'650), worker.ttl);
  if (ok) {
    ok = read_duration(invocation, "retry-delay", worker.longest_delay, worker.first_delay);
  }
  if (!ok) return ok;
  const std::string from = invocation.option("key-from").value_or("");
  constexpr std::string_view kHeader = "header:";
  constexpr std::string_view kPointer = "body:";
  if (from == "body") {
    worker.key.body = true;
  } else if (from.starts_with(kPointer)) {
    worker.key.pointer = from.substr(kPointer.size());
    if (!worker.key.pointer.starts_with('/')) {
      return wrong("--key-from body: takes a JSON pointer, such as body:/order/id");
    }
  } else {
    worker.key.attribute = from.starts_with(kHeader) ? from.substr(kHeader.size()) : from;
  }
  worker.owner = owner_of(invocation);
  return {};
}

Result<work::ServeOptions> options_of(const Invocation& invocation) {
  work::ServeOptions options;
  options.http = invocation.option("http").value_or("");
  if (invocation.own_words != 1 || options.http.empty() == (invocation.words.size() == 1)) {
    return wrong("it is called as once work QUEUE [OPTIONS] -- COMMAND ..., or with --http URL");
  }
  if (invocation.option("if-store-down") == "proceed") {
    return wrong("a worker waits for its store: there is no --if-store-down proceed");
  }
  options.queue = invocation.words[0];
  options.command = {invocation.words.begin() + 1, invocation.words.end()};
  if (Result<void> ok = read_worker(invocation, options.worker); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (Result<void> ok =
          read_duration(invocation, "http-timeout", std::chrono::hours(12), options.http_timeout);
      !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  Result<StorePlace> store = store_or_server(invocation);
  if (!store) return std::unexpected(std::move(store.error()));
  options.store = store->address;
  options.open = [place = std::move(*store), token = invocation.option("token").value_or(""),
                  name_space = invocation.option("namespace").value_or("default")] {
    return open_place(place, token, name_space);
  };
  Result<client::SharedTls> tls = client::read_tls(client_files(invocation));
  if (!tls) return std::unexpected(std::move(tls.error()));
  options.http_tls = std::move(*tls);
  Result<server::JournalOptions> journal = journal_of(invocation);
  if (!journal) return std::unexpected(std::move(journal.error()));
  options.journal = std::move(*journal);
  options.metrics_listen = invocation.option("metrics-listen").value_or("");
  // A file may have a certificate for servers: without that port it is nothing to a worker.
  if (!options.metrics_listen.empty()) options.metrics_tls = tls_files(invocation);
  return options;
}

int run(const Invocation& invocation) {
  const Result<work::ServeOptions> options = options_of(invocation);
  if (!options) return refuse_usage("work", options.error().message);
  return run_server(invocation, options, work::serve);
}

constexpr std::array kOptions = {
    Option{"concurrency"},    Option{"max-attempts"}, Option{"lease"},   Option{"ttl"},
    Option{"retry-delay"},    Option{"key-from"},     Option{"http"},    Option{"http-timeout"},
    Option{"metrics-listen"}, Option{"tls-cert"},     Option{"tls-key"}, Option{"tls-client-ca"},
    Option{"owner"},          Option{"log"},
};
constexpr std::array kVerbs = {Verb{.least = 1,
                                    .most = kAnyNumber,
                                    .words = "QUEUE -- COMMAND ...",
                                    .options = kOptions,
                                    .run = run}};

}  // namespace

const Command kCommand = {
    .name = "work",
    .summary = "Handles the messages of a queue, each behind a claim, by a command or over HTTP",
    .help = R"(Usage: once work QUEUE [--concurrency 8] [--max-attempts 5] [--lease 30s] [--ttl 24h]
                 -- COMMAND [ARGUMENT]...
       once work QUEUE ... --http http://HOST:PORT/PATH

Takes messages from QUEUE and handles each behind a claim: by one at a time while leases hold, and
never again when it is done, however often it is delivered and however many workers there are. A
message is claimed, handled, completed and acknowledged; one that is done is acknowledged unhandled,
and one that another worker is at comes back later.

  sqs://NAME?region=REGION    a queue of Amazon SQS; &endpoint=URL of what speaks like it, &dead=NAME
                              for dead letters (NAME-dead otherwise), &wait=5 seconds for messages
  amqp://USER:PASSWORD@HOST:PORT/VHOST/NAME
                              a queue of RabbitMQ; all but host and name may be left out. ?dead=NAME
                              as above, &group=HEADER names the group within which order is kept
  amqps://...                 the same over TLS; &ca=FILE for those who vouch for the broker

COMMAND has the message's body as its standard input and ONCE_KEY, ONCE_FENCE, ONCE_ATTEMPT and
ONCE_MESSAGE_ID in its environment. Exit code 0 completes the message. Any other frees it, and it
comes back after a delay that doubles with each attempt; after the last attempt it is put among the
dead letters, with the reason. COMMAND is stopped when the lease is lost, and does not outlive
'once work'. Over HTTP each message is a POST with an Idempotency-Key; a 2xx completes it.

What COMMAND writes to descriptor 3, or the answer of type application/vnd.once.effects+json, are
effects: {"result": ..., "logs": [...], "docs": [...], "tallies": [...]} as POST /v1/commit has them.
They happen together with the completion, or not at all: exactly once.

  --concurrency 8     messages at once
  --max-attempts 5    at a message, before it is a dead letter
  --lease 30s         how long another worker waits when this one dies; renewed meanwhile
  --ttl 24h           how long a done message is known; longer than it may be delivered again
  --retry-delay 1s    after the first failure; doubled with each, up to 5m
  --key-from FROM     what a message is known by: header:NAME, an attribute or a header;
                      body:/order/id, what that JSON pointer finds in its body; or body, all of it.
                      Without it, or where it is missing: its id. CloudEvents are always known by
                      source and id
  --http-timeout 5m   for an answer
  --owner NAME        who this is, for 'once claim show'; HOST:PID otherwise
  --log text|json     write a line to standard error for each delivery; otherwise for troubles only
  --metrics-listen HOST:PORT    answer GET /metrics and /healthz there
  --tls-cert FILE, --tls-key FILE, --tls-client-ca FILE
                      speak https on that port, as 'once serve' does

TERM lets it finish what is under way and take no more; a second one ends it at once.

Example:
  timeout --preserve-status 2 once work 'sqs://jobs?region=eu-west-1&wait=1' -- wc -c
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::work_command
