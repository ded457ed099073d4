#include <iostream>
#include <vector>

#include "cli/command.h"

namespace {

using namespace once::cli;

std::string_view spelled_out(std::string_view word) {
  if (word == "--help" || word == "-h") return "help";
  if (word == "--version") return "version";
  return word;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::cerr << "once: a command is missing; 'once help' lists them\n";
    return kUsage;
  }
  const Command* command = find_command(spelled_out(words[0]));
  return command != nullptr ? command->run(Arguments(words).subspan(1)) : refuse_unknown(words[0]);
}
