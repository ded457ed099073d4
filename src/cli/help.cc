#include <algorithm>
#include <iostream>
#include <string>

#include "cli/command.h"

namespace once::cli {
namespace {

void list_commands() {
  std::size_t width = 0;
  for (const Command& command : commands()) width = std::max(width, command.name.size());
  std::cout << "once: effects that happen once\n\nUsage: once COMMAND [ARGUMENTS]\n\n";
  for (const Command& command : commands()) {
    const std::string gap(width - command.name.size() + 2, ' ');
    std::cout << "  " << command.name << gap << command.summary << '\n';
  }
  std::cout << "\n'once help COMMAND' explains a command and gives an example.\n";
}

int run(Arguments arguments) {
  if (arguments.size() > 1) return refuse_usage("help", "one command at a time");
  if (arguments.empty()) {
    list_commands();
    return kDone;
  }
  const Command* command = find_command(arguments[0]);
  if (command == nullptr) return refuse_unknown(arguments[0]);
  std::cout << command->help;
  return kDone;
}

}  // namespace

const Command kHelp = {
    .name = "help",
    .summary = "Lists the commands, or explains one of them",
    .help = R"(Usage: once help [COMMAND]

Lists the commands, or explains COMMAND.

Example:
  once help version
)",
    .run = run,
};

}  // namespace once::cli
