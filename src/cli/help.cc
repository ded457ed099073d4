#include <algorithm>
#include <array>
#include <iostream>
#include <string>

#include "cli/invocation.h"
#include "open/store_kinds.h"

namespace once::cli::help_command {
namespace {

constexpr std::string_view kCommonUpToStores = R"(
'once help COMMAND' explains a command and gives examples.

Every command takes:
  --store STORE           a directory, the address of a running server (http://host:7600, or
                          https:// where something ends TLS before it), or of a store:
)";

constexpr std::string_view kCommonAfterStores =
    R"(                          A directory where a server runs is that server.
  --namespace NAME        keeps its keys apart from those of other namespaces
  --token-file FILE       a file with a token, for a server that asks for one; or give the token itself
                          in ONCE_TOKEN. (--token TOKEN works too, and stays in the shell's history)
  --if-store-down WHAT    proceed: claim and seen answer as if all were new; refuse: they fail
  --config FILE           options as TOML: at the top level, or in a table named after a command
  --json                  prints the answer as a line of JSON
  --field NAME            prints one field of the answer
  --                      ends the options

Each option may also come from the environment (ONCE_STORE, ONCE_IF_STORE_DOWN, ...) or from the
configuration file; the command line wins over the environment, the environment over the file.
Without any, the store is $XDG_STATE_HOME/once, ~/.local/state/once, or for root /var/lib/once.

Exit codes: 0 done, 1 refused (lost, fenced, mismatch, duplicate, not found), 64 usage, 69 store
unavailable, 70 unknown, 75 busy, try later. 70 is of commands that write: an answer was lost, and it
may have happened; a repeat with the --request that is printed is no second time.
)";

void list_commands() {
  std::size_t width = 0;
  for (const Command& command : commands()) width = std::max(width, command.name.size());
  std::cout << "once: effects that happen once\n\nUsage: once COMMAND [ARGUMENTS]\n\n";
  for (const Command& command : commands()) {
    const std::string gap(width - command.name.size() + 2, ' ');
    std::cout << "  " << command.name << gap << command.summary << '\n';
  }
  std::cout << kCommonUpToStores;
  for (const StoreKind& store : store_kinds()) {
    std::cout << std::string(28, ' ') << store.example << '\n';
  }
  std::cout << kCommonAfterStores;
}

int run(const Invocation& invocation) {
  if (invocation.words.empty()) {
    list_commands();
    return kDone;
  }
  const Command* command = find_command(invocation.words[0]);
  if (command == nullptr) return refuse_unknown(invocation.words[0]);
  std::cout << command->help;
  return kDone;
}

constexpr std::array kVerbs = {Verb{.most = 1, .words = "one COMMAND", .run = run}};

}  // namespace

const Command kCommand = {
    .name = "help",
    .summary = "Lists the commands, or explains one of them",
    .help = R"help(Usage: once help [COMMAND]

Lists the commands, or explains COMMAND.

Example:
  once help version
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::help_command
