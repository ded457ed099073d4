#include <sys/resource.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#include "api/findings.h"
#include "base/printable_address.h"
#include "cli/answer.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "once/open.h"
#include "wire/text.h"

namespace once::cli::doctor_command {
namespace {

using api::Finding;
using api::Findings;

constexpr std::string_view kDirectory = "directory";

void check_version(const std::string& version, Findings& found) {
  if (version == ONCE_VERSION) {
    found.ok("version", "server and command are both " ONCE_VERSION);
  } else {
    found.warning("version", "the server is " + version + ", this command is " ONCE_VERSION,
                  "install the same version on both");
  }
}

// Why the server, which is there, does not tell what it finds; and what anyone may know.
void explain(const Invocation& invocation, Target& target, const api::Response& refusal,
             Findings& found) {
  const std::string why = "the server does not tell what it finds: " + field_of(refusal, "detail");
  if (refusal.status == 401) {
    found.warning("server", why, "give a token: --token-file, or ONCE_TOKEN");
  } else if (refusal.status == 403) {
    found.warning("server", why, "use a token for all namespaces: once token new --read-only");
  } else {
    found.warning("server", why, "see its log; one of an earlier version cannot tell");
  }
  const auto ready = target.call(request_for(invocation, "GET", "/readyz"));
  if (ready && ready->status == 200) {
    found.ok("store", "it is ready: it answers and takes writes");
  } else {
    found.problem("store", "it is not ready", "see the server's log and docs/operations.md");
  }
  const Result<std::string> address = named_store(invocation);
  const auto directory = address ? directory_of(*address) : std::nullopt;
  if (directory) api::judge_directory(*directory, found);
}

// How the server of --store sees itself, or the store that is opened here, and how its clock is
// beside this machine's.
void ask(const Invocation& invocation, Target& target, bool has_server, Findings& found) {
  const Time before = system_clock().now();
  const auto answer = target.call(request_for(invocation, "GET", "/v1/doctor"));
  const Time after = system_clock().now();
  if (!answer) {
    return has_server ? found.problem("server", "it does not answer: " + answer.error().message,
                                      "start it, or see its log")
                      : found.problem("store", "it does not open: " + answer.error().message,
                                      "see docs/operations.md, 'What keeps it from starting'");
  }
  const auto told = answer->status == 200 ? api::decode_findings(answer->body) : std::nullopt;
  if (!told) return explain(invocation, target, *answer, found);
  for (const Finding& one : *told) {
    if (one.check != kDirectory) found.add(one);  // It is looked at here, before it is opened.
  }
  if (!has_server) return;
  check_version(field_of(*answer, "version"), found);
  if (const std::optional<Time> there = api::parse_time(field_of(*answer, "time"))) {
    api::judge_store_clock({.store = *there, .before = before, .after = after}, "this machine's",
                           found);
  }
}

void check_limit(Findings& found) {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_max == RLIM_INFINITY) return found.ok("limits", "descriptors are not limited");
  api::judge_limit(static_cast<double>(limit.rlim_max), found);
}

void print(const Invocation& invocation, const std::string& address, const Findings& found) {
  if (invocation.flag("json")) {
    api::JsonObject out;
    out.text("store", printable_address(address)).boolean("sound", !found.has_problem());
    print_line(out.raw("findings", api::encode(found)).finish());
    return;
  }
  std::cout << "store    " << printable_address(address) << '\n';
  for (const Finding& one : found.all()) {
    constexpr std::array kColours = {Colour::green, Colour::yellow, Colour::red};
    std::string level(name_of(one.level));
    level.resize(9, ' ');
    std::cout << coloured(kColours[static_cast<std::size_t>(one.level)], level) << one.check << ": "
              << shown(one.detail) << '\n';
    if (!one.remedy.empty()) std::cout << "         " << shown(one.remedy) << '\n';
  }
}

int run(const Invocation& invocation) {
  const Result<std::string> address = named_store(invocation);
  if (!address) return print_error(invocation, address.error());
  Findings found;
  const std::optional<std::filesystem::path> directory = directory_of(*address);
  if (directory) api::judge_permissions(*directory, found);
  const auto target = open_target(invocation);
  const Result<client::HttpClient*> server = target->server();
  const bool has_server = server && *server != nullptr;
  if (has_server) api::judge_own_clock("this machine's", found);
  if (server) {
    ask(invocation, *target, has_server, found);
  } else {
    found.problem("store", "it does not open: " + server.error().message,
                  "see docs/operations.md, 'What keeps it from starting'");
  }
  if (!has_server) check_limit(found);
  if (directory && server && !has_server) {
    found.ok("server", "none runs on the directory; commands open it themselves");
  }
  print(invocation, *address, found);
  return found.has_problem() ? kRefused : kDone;
}

constexpr std::array kVerbs = {Verb{.run = run}};

}  // namespace

const Command kCommand = {
    .name = "doctor",
    .summary = "Tells what is wrong with a server, its store and this machine, and the remedy",
    .help = R"(Usage: once doctor [--store ADDRESS]

Looks at the server of --store, or at the store itself where none runs, and at this machine, and
prints what each thinks of the other: clocks, free disk, limits of descriptors, versions, durability,
who may enter the directory, checkpoints that were left, abandoned claims and damaged bytes. What is
not as it should be has its remedy below it. Exit 1 if there is a problem; a warning is none. Nothing
is changed, but that a directory that is not there is made.

With tokens configured, give one for all namespaces; with less, less is looked at.

Example:
  once doctor
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::doctor_command
