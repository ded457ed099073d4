// A command of the binary: one file each, and one line in the table of commands.cc.
#pragma once

#include <span>
#include <string_view>

namespace once::cli {

// What the process exits with; API for scripts, so the numbers never change.
inline constexpr int kDone = 0;
inline constexpr int kUsage = 64;

using Arguments = std::span<const std::string_view>;

struct Command {
  std::string_view name;
  std::string_view summary;  // One line, in the list of commands.
  std::string_view help;     // How it is called, what it does, an example.
  int (*run)(Arguments arguments);
};

std::span<const Command> commands();

// Null when there is none of this name.
const Command* find_command(std::string_view name);

// Says on stderr that there is no such command, and which one may have been meant.
int refuse_unknown(std::string_view name);

// Says on stderr what is wrong with the arguments of `command`.
int refuse_usage(std::string_view command, std::string_view problem);

extern const Command kHelp;
extern const Command kServe;
extern const Command kVersion;

}  // namespace once::cli
