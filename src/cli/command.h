// A command of the binary: one file each, and one line in the table of commands.cc. A command is
// one verb without a name (once seen), or several with names (once claim take).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace once::cli {

// What the process exits with; API for scripts, so the numbers never change.
inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;  // Lost guard, fenced, mismatch, duplicate, not found.
inline constexpr int kUsage = 64;
inline constexpr int kUnavailable = 69;
inline constexpr int kUnknown = 70;  // It may have happened.
inline constexpr int kBusy = 75;     // Try later.

struct Invocation;

// --name VALUE, or a flag: --name. A list is VALUE,VALUE and may be given several times. Also taken
// from the environment (ONCE_NAME) and from the configuration file; see invocation.h.
struct Option {
  std::string_view name;
  enum class Kind : std::uint8_t { value, flag, list } kind = Kind::value;
};

struct Verb {
  std::string_view name;  // Empty for a command that is one verb.

  // How many words it takes besides options, and what they are, for messages.
  std::size_t least = 0;
  std::size_t most = 0;
  std::string_view words;

  std::span<const Option> options;  // Besides those that every command takes.
  int (*run)(const Invocation& invocation);
};

inline constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

struct Command {
  std::string_view name;
  std::string_view summary;  // One line, in the list of commands.
  std::string_view help;     // How it is called, what it does, examples.
  std::span<const Verb> verbs;
};

std::span<const Command> commands();

// What every command takes: --store, --namespace, ...
std::span<const Option> common_options();

// Null for an unknown name.
const Command* find_command(std::string_view name);

// Says on stderr that there is no such command, and which one may have been meant.
int refuse_unknown(std::string_view name);

// Says on stderr what is wrong with the arguments of `command`, which may be a verb: "claim take".
int refuse_usage(std::string_view command, std::string_view problem);

namespace audit_command {
extern const Command kCommand;
}
namespace backup_command {
extern const Command kCommand;
}
namespace bench_command {
extern const Command kCommand;
}
namespace checkpoint_command {
extern const Command kCommand;
}
namespace claim_command {
extern const Command kCommand;
}
namespace completion_command {
extern const Command kCommand;
}
namespace demo_command {
extern const Command kCommand;
}
namespace doc_command {
extern const Command kCommand;
}
namespace doctor_command {
extern const Command kCommand;
}
namespace export_command {
extern const Command kCommand;
}
namespace help_command {
extern const Command kCommand;
}
namespace hot_command {
extern const Command kCommand;
}
namespace import_command {
extern const Command kCommand;
}
namespace log_command {
extern const Command kCommand;
}
namespace proxy_command {
extern const Command kCommand;
}
namespace restore_command {
extern const Command kCommand;
}
namespace run_command {
extern const Command kCommand;
}
namespace seen_command {
extern const Command kCommand;
}
namespace serve_command {
extern const Command kCommand;
}
namespace table_command {
extern const Command kCommand;
}
namespace tally_command {
extern const Command kCommand;
}
namespace token_command {
extern const Command kCommand;
}
namespace verify_command {
extern const Command kCommand;
}
namespace version_command {
extern const Command kCommand;
}
namespace work_command {
extern const Command kCommand;
}

}  // namespace once::cli
