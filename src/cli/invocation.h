// One call of the binary, understood: which verb, with which words and options.
//
// An option is taken from the command line; if it is not there, from the environment
// (--if-store-down: ONCE_IF_STORE_DOWN); if not there either, from the file that --config names, in
// the table of its command, and at last at the file's top level.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "once/error.h"

namespace once::cli {

// What was typed or configured cannot be meant.
inline std::unexpected<Error> wrong(std::string message) {
  return failure(ErrorCode::invalid, std::move(message));
}

// "claim take", or "seen" for a command that is one verb: how messages name it.
std::string name_of(const Command& command, const Verb& verb);

struct Invocation {
  const Command* command = nullptr;
  const Verb* verb = nullptr;
  std::vector<std::string> words;  // What is no option; without the verb's name.
  std::size_t own_words = 0;       // How many of them came before `--`.
  std::map<std::string, std::string, std::less<>> options;
  std::vector<std::string> arguments;  // All of the above as it was typed.

  std::string name() const { return name_of(*command, *verb); }

  // Nothing if it was given nowhere.
  std::optional<std::string> option(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::vector<std::string> list(std::string_view name) const;  // In the order given.

  // `invalid` if it was given and is not a number.
  Result<std::optional<std::int64_t>> integer(std::string_view name) const;
};

// The verb that `arguments` begin with, taken from them; the only one, if the command has no more.
// `invalid` for an unknown name; the message lists the known ones.
Result<const Verb*> take_verb(const Command& command, std::span<const std::string_view>& arguments);

// `invalid`: an unknown option, a missing value, too many words or too few; a configuration that
// cannot be read, or holds what no command takes.
Result<Invocation> parse_arguments(const Command& command, const Verb& verb,
                                   std::span<const std::string_view> arguments);

}  // namespace once::cli
