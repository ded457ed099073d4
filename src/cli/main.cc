#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "cli/invocation.h"
#include "cli/secrets.h"

namespace {

using namespace once::cli;
using Words = std::span<const std::string_view>;

std::string_view spelled_out(std::string_view word) {
  if (word == "--help" || word == "-h") return "help";
  if (word == "--version") return "version";
  return word;
}

bool asks_for_help(Words arguments) {
  const auto end = std::ranges::find(arguments, "--");
  return std::any_of(arguments.begin(), end,
                     [](std::string_view word) { return word == "--help" || word == "-h"; });
}

int run(const Command& command, Words arguments) {
  if (asks_for_help(arguments)) {
    std::cout << command.help;
    return kDone;
  }
  const auto verb = take_verb(command, arguments);
  if (!verb) return refuse_usage(command.name, verb.error().message);
  const auto invocation = parse_arguments(command, **verb, arguments);
  if (!invocation) return refuse_usage(name_of(command, **verb), invocation.error().message);
  return invocation->verb->run(*invocation);
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  hide_secrets({argv + 1, argv + argc});
  const std::vector<std::string_view> words(arguments.begin(), arguments.end());
  if (words.empty()) {
    std::cerr << "once: a command is missing; 'once help' lists them\n";
    return kUsage;
  }
  const Command* command = find_command(spelled_out(words[0]));
  if (command == nullptr) return refuse_unknown(words[0]);
  const int exit = run(*command, Words(words).subspan(1));
  if (std::cout.flush()) return exit;
  std::cerr << "once " << command->name << ": the output cannot be written\n";
  return exit == kDone ? kRefused : exit;
}
