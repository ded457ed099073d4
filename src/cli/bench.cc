#include <unistd.h>

#include <array>
#include <cstdio>
#include <iostream>

#include "cli/answer.h"
#include "cli/invocation.h"
#include "cli/target.h"
#include "client/url.h"
#include "load/load.h"
#include "wire/text.h"

namespace once::cli::bench_command {
namespace {

using load::LoadOptions;
using load::LoadReport;
using load::Workload;

struct Named {
  std::string_view name;
  Workload workload;
};
constexpr std::array kWorkloads = {Named{"claims", Workload::claims}, Named{"seen", Workload::seen},
                                   Named{"append", Workload::append},
                                   Named{"patch", Workload::patch},
                                   Named{"tally", Workload::tally}};

Result<unsigned> count_of(const Invocation& invocation, std::string_view name, unsigned standard,
                          unsigned most) {
  const auto given = invocation.integer(name);
  if (!given) return std::unexpected(given.error());
  const std::int64_t count = given->value_or(standard);
  if (count >= 1 && count <= most) return static_cast<unsigned>(count);
  return failure(ErrorCode::invalid, "--" + std::string(name) + " is 1 to " + std::to_string(most));
}

Result<void> take_server(const Invocation& invocation, LoadOptions& options) {
  const std::string address = invocation.option("store").value_or("http://127.0.0.1:7600");
  const std::optional<client::Url> url = client::parse_url(address);
  const auto port = api::parse_integer(url ? url->port : "");
  if (!port || *port < 1 || *port > 65'535) {
    return failure(ErrorCode::invalid, "it drives a server: --store http://127.0.0.1:7600");
  }
  options.host = url->host;
  options.port = static_cast<std::uint16_t>(*port);
  options.authority = url->authority;
  options.tls = url->tls;
  options.files = client_files(invocation);
  return {};
}

Result<LoadOptions> options_of(const Invocation& invocation) {
  LoadOptions options;
  bool known = false;
  for (const Named& named : kWorkloads) {
    if (named.name != invocation.words[0]) continue;
    options.workload = named.workload;
    known = true;
  }
  if (!known)
    return failure(ErrorCode::invalid, "it measures claims, seen, append, patch or tally");
  const auto clients = count_of(invocation, "clients", 50, 10'000);
  const auto batch = count_of(invocation, "batch", 1, 10'000);
  const auto seconds = count_of(invocation, "seconds", 5, 3'600);
  for (const auto* number : {&clients, &batch, &seconds}) {
    if (!*number) return std::unexpected(number->error());
  }
  options.clients = *clients;
  const bool batches = options.workload == Workload::seen || options.workload == Workload::append;
  options.batch = batches ? *batch : 1;
  options.length = std::chrono::seconds(*seconds);
  options.token = invocation.option("token").value_or("");
  options.name_space = invocation.option("namespace").value_or("default");
  if (Result<void> ok = take_server(invocation, options); !ok) return std::unexpected(ok.error());
  return options;
}

double millis(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

void show_progress(const LoadReport& report) {
  std::fprintf(stderr, "\r%.0f/s  p50 %.2f ms  p99 %.2f ms \x1b[K", report.per_second(),
               millis(report.p50), millis(report.p99));
}

void print(const LoadReport& report) {
  std::printf("%-12s %.0f/s\n", "rate", report.per_second());
  std::printf("%-12s %llu\n", "operations", static_cast<unsigned long long>(report.operations));
  std::printf("%-12s %llu\n", "failed", static_cast<unsigned long long>(report.failed));
  std::printf("%-12s p50 %.2f ms, p90 %.2f ms, p99 %.2f ms, slowest %.2f ms\n", "latency",
              millis(report.p50), millis(report.p90), millis(report.p99), millis(report.slowest));
}

void print_json(const LoadReport& report) {
  api::JsonObject out;
  out.raw("per_second", api::number_text(report.per_second()));
  out.integer("operations", static_cast<std::int64_t>(report.operations));
  out.integer("requests", static_cast<std::int64_t>(report.requests));
  out.integer("failed", static_cast<std::int64_t>(report.failed));
  out.raw("seconds", api::number_text(std::chrono::duration<double>(report.took).count()));
  out.raw("p50_ms", api::number_text(millis(report.p50)));
  out.raw("p90_ms", api::number_text(millis(report.p90)));
  out.raw("p99_ms", api::number_text(millis(report.p99)));
  out.raw("slowest_ms", api::number_text(millis(report.slowest)));
  print_line(out.finish());
}

int run(const Invocation& invocation) {
  const Result<LoadOptions> options = options_of(invocation);
  if (!options) return print_error(invocation, options.error());
  const bool visible = ::isatty(STDERR_FILENO) == 1;
  const Result<LoadReport> report = load::drive(*options, [visible](const LoadReport& so_far) {
    if (visible) show_progress(so_far);
  });
  if (visible) std::fprintf(stderr, "\r\x1b[K");
  if (!report) return print_error(invocation, report.error());
  invocation.flag("json") ? print_json(*report) : print(*report);
  return kDone;
}

constexpr std::array kOptions = {Option{"clients"}, Option{"batch"}, Option{"seconds"}};
constexpr std::array kVerbs = {
    Verb{.least = 1, .most = 1, .words = "WORKLOAD", .options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "bench",
    .summary = "Drives a server and measures it",
    .help = R"(Usage: once bench claims|seen|append|patch|tally [--store http://127.0.0.1:7600]
                  [--clients 50] [--batch 1] [--seconds 5] [--json]

Sends requests to a running server, http:// or https://, from many connections at once, each waiting
for its answer, and prints how many operations it did a second and how long they took. What it writes
stays there, under names that begin with bench-.

  claims   takes claims, each of a new key
  seen     marks new ids, --batch at a time
  append   appends to one log, --batch events at a time
  patch    merges into 16 documents
  tally    adds to one sum

Example:
  once serve --listen 127.0.0.1:7699 & once bench seen --store http://127.0.0.1:7699; kill $!
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::bench_command
