#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/events.h"
#include "cli/invocation.h"
#include "cli/terminal.h"

namespace once::cli::audit_command {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// Time, action, key, token, where from, and the request.
void print_record(api::Json event) {
  api::Json data;
  if (event.at_key("data").get(data) != simdjson::SUCCESS) return;
  constexpr std::size_t kActionWidth = 12;
  std::string action = member(data, "action");
  action.resize(std::max(action.size(), kActionWidth), ' ');
  const std::string name_space = member(data, "namespace");
  std::cout << coloured(Colour::faint, member(event, "time")) << "  " << action << "  "
            << (name_space.empty() ? "" : name_space + "/") << member(data, "key") << "  token "
            << or_dash(member(data, "token")) << "  from " << or_dash(member(data, "from"))
            << "  request " << or_dash(member(data, "request_id")) << '\n';
}

int run(const Invocation& invocation) {
  Invocation of_log = invocation;
  of_log.words = {"audit"};
  of_log.options.insert_or_assign("namespace", "once");
  return show_log(of_log, {.print = print_record, .follow = invocation.flag("follow")});
}

constexpr std::array kOptions = {Option{"follow", Option::Kind::flag}, Option{"from"},
                                 Option{"since"}, Option{"limit"}};
constexpr std::array kVerbs = {Verb{.options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "audit",
    .summary = "Shows who forgot, deleted, trimmed or imported what, and changed tokens",
    .help = R"(Usage: once audit [--follow] [--since TIME | --from INDEX] [--limit N]

Prints a line for each claim or id that was forgotten or made free, each document, tally or log that
was deleted, each trim, import and change of tokens of the last 30 days: when, what, the namespace and
key, the id of the token that allowed it (see 'once token list'), the address it came from, and the id
of the request. A dash stands for what there was not: no token where a server is open, and neither
address nor request for a command that opened the store itself ('local').

  --follow       goes on with what comes, until it is stopped
  --since TIME   begins at the first one at or after a time such as 2026-11-18T08:00:00Z
  --limit N      prints at most so many

It is the log 'audit' of namespace 'once', to which nobody can write. A record is made by the same
commit as the change itself, where the store can do that, and otherwise just before it: it may then be
there without the change if a process died in between. On a server with tokens it takes one for all
namespaces to read it; exit 1 without. It is no part of an export.

Example:
  once claim take job-1 && once claim forget job-1 && once audit
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::audit_command
