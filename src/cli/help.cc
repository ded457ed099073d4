#include <algorithm>
#include <array>
#include <iostream>
#include <sstream>
#include <string>

#include "cli/invocation.h"
#include "cli/man.h"
#include "open/store_kinds.h"

namespace once::cli::help_command {
namespace {

constexpr std::string_view kCommonUpToStores = R"(
'once help COMMAND' explains a command and gives examples.

Every command takes:
  --store STORE           a directory, the address of a running server (http://host:7600, or
                          https://), or of a store:
)";

constexpr std::string_view kCommonAfterStores =
    R"(                          A directory where a server runs is that server.
  --namespace NAME        keeps its keys apart from those of other namespaces
  --token-file FILE       a file with a token, for a server that asks for one; or give the token itself
                          in ONCE_TOKEN. (--token TOKEN works too, and stays in the shell's history)
  --ca FILE               authorities to trust at https:// (PEM); those of the machine without it
  --client-cert FILE      a certificate to show to a server that asks for one (PEM)
  --client-key FILE       its private key, if it is not in the same file
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

// The commands, what all of them take, and the exit codes.
std::string overview() {
  std::ostringstream out;
  std::size_t width = 0;
  for (const Command& command : commands()) width = std::max(width, command.name.size());
  out << "once: effects that happen once\n\nUsage: once COMMAND [ARGUMENTS]\n\n";
  for (const Command& command : commands()) {
    const std::string gap(width - command.name.size() + 2, ' ');
    out << "  " << command.name << gap << command.summary << '\n';
  }
  out << kCommonUpToStores;
  for (const StoreKind& store : store_kinds()) {
    out << std::string(28, ' ') << store.example << '\n';
  }
  out << kCommonAfterStores;
  return out.str();
}

int run(const Invocation& invocation) {
  const bool is_page = invocation.flag("man");
  if (invocation.words.empty()) {
    std::cout << (is_page ? main_page(overview()) : overview());
    return kDone;
  }
  const Command* command = find_command(invocation.words[0]);
  if (command == nullptr) return refuse_unknown(invocation.words[0]);
  std::cout << (is_page ? page_of(*command) : std::string(command->help));
  return kDone;
}

constexpr std::array kOptions = {Option{"man", Option::Kind::flag}};
constexpr std::array kVerbs = {
    Verb{.most = 1, .words = "one COMMAND", .options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "help",
    .summary = "Lists the commands, or explains one of them",
    .help = R"help(Usage: once help [COMMAND] [--man]

Lists the commands, or explains COMMAND. --man prints it as the source of a manual page, for
'man -l -'; the Debian package installs the pages: 'man once', 'man once-run'.

Example:
  once help version
  once help run --man
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::help_command
