#include <array>
#include <iostream>
#include <string>

#include "cli/invocation.h"

namespace once::cli::completion_command {
namespace {

// The names of a command's verbs, each after a space; empty for a command that is one verb.
std::string verb_names(const Command& command) {
  std::string names;
  for (const Verb& verb : command.verbs) {
    if (!verb.name.empty()) names.append(" ").append(verb.name);
  }
  return names;
}

// --name of all that the verb takes, each after a space.
std::string option_names(const Verb& verb) {
  std::string names;
  for (const std::span<const Option> options : {verb.options, common_options()}) {
    for (const Option& option : options) names.append(" --").append(option.name);
  }
  return names;
}

std::string command_names() {
  std::string names;
  for (const Command& command : commands()) names.append(" ").append(command.name);
  return names;
}

// Rows of a `case` over "COMMAND VERB" that set `candidates`; bash and zsh read them alike.
void print_cases() {
  for (const Command& command : commands()) {
    for (const Verb& verb : command.verbs) {
      std::cout << "    '" << command.name << ' ' << verb.name << (verb.name.empty() ? "'*" : "'")
                << ") candidates='" << option_names(verb) << "' ;;\n";
    }
  }
}

// Rows of a `case` over COMMAND that set `candidates` to its verbs.
void print_verbs() {
  for (const Command& command : commands()) {
    const std::string names = verb_names(command);
    if (names.empty()) continue;
    std::cout << "    " << command.name << ") candidates='" << names << "' ;;\n";
  }
}

void print_help_topics() {
  std::cout << "    help) candidates='" << command_names() << "' ;;\n"
            << "    completion) candidates=' bash zsh fish' ;;\n";
}

// Where nothing fits, bash completes file names: a word that no table knows is often one. After a
// `--` of its own, the rest is the user's command.
void print_bash() {
  std::cout << R"(# bash completion of once. Load it with: source <(once completion bash)
_once() {
  local current=${COMP_WORDS[COMP_CWORD]} candidates='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [ "${COMP_WORDS[i]}" != -- ] || return 0
  done
  if [ "$COMP_CWORD" -eq 1 ]; then
    candidates=')"
            << command_names() << R"('
  elif [[ $current == -* ]]; then
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
)";
  print_cases();
  std::cout << R"(    esac
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case ${COMP_WORDS[1]} in
)";
  print_verbs();
  print_help_topics();
  std::cout << R"(    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
}
complete -o default -F _once once
)";
}

// A summary goes into single quotes of zsh and fish.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else {
      out += letter;
    }
  }
  return out;
}

void print_zsh() {
  std::cout << R"(#compdef once
# zsh completion of once. Load it with: source <(once completion zsh)
# or save it as _once in a directory of $fpath.
_once() {
  local candidates=''
  local -a names
  if (( ${words[(i)--]} < CURRENT )); then
    _files
    return
  fi
  if (( CURRENT == 2 )); then
    names=(
)";
  for (const Command& command : commands()) {
    std::cout << "      '" << command.name << ':' << quoted(command.summary) << "'\n";
  }
  std::cout << R"(    )
    _describe command names
    return
  fi
  if [[ ${words[CURRENT]} == -* ]]; then
    case "${words[2]} ${words[3]}" in
)";
  print_cases();
  std::cout << R"(    esac
  elif (( CURRENT == 3 )); then
    case ${words[2]} in
)";
  print_verbs();
  print_help_topics();
  std::cout << R"(    esac
  fi
  names=(${=candidates})
  if (( ${#names} )); then compadd -- $names; else _files; fi
}
if [[ $funcstack[1] == _once ]]; then _once "$@"; else compdef _once once; fi
)";
}

void print_fish_options(const std::string& when, std::span<const Option> options) {
  for (const Option& option : options) {
    std::cout << "complete -c once -n '" << when << "' -l " << option.name
              << (option.kind == Option::Kind::flag ? "" : " -r") << '\n';
  }
}

void print_fish() {
  std::cout << "# fish completion of once. Load it with: once completion fish | source\n";
  for (const Command& command : commands()) {
    std::cout << "complete -c once -f -n __fish_use_subcommand -a " << command.name << " -d '"
              << quoted(command.summary) << "'\n";
    const std::string mine = "__fish_seen_subcommand_from " + std::string(command.name);
    const std::string verbs = verb_names(command);
    for (const Verb& verb : command.verbs) {
      if (!verb.name.empty()) {
        std::cout << "complete -c once -f -n '" << mine << "; and not __fish_seen_subcommand_from"
                  << verbs << "' -a " << verb.name << '\n';
      }
      const std::string when =
          verb.name.empty() ? mine
                            : mine + "; and __fish_seen_subcommand_from " + std::string(verb.name);
      print_fish_options(when, verb.options);
    }
  }
  print_fish_options("not __fish_use_subcommand", common_options());
  std::cout << "complete -c once -f -n '__fish_seen_subcommand_from help' -a '" << command_names()
            << "'\ncomplete -c once -f -n '__fish_seen_subcommand_from completion' -a "
               "'bash zsh fish'\n";
}

int run(const Invocation& invocation) {
  const std::string& shell = invocation.words[0];
  if (shell == "bash") {
    print_bash();
  } else if (shell == "zsh") {
    print_zsh();
  } else if (shell == "fish") {
    print_fish();
  } else {
    return refuse_usage("completion", "the shells are bash, zsh and fish");
  }
  return kDone;
}

constexpr std::array kVerbs = {
    Verb{.least = 1, .most = 1, .words = "bash, zsh or fish", .run = run}};

}  // namespace

const Command kCommand = {
    .name = "completion",
    .summary = "Prints what completes commands and options in a shell",
    .help = R"help(Usage: once completion bash|zsh|fish

Prints a script for the shell. With it, Tab completes commands, verbs and options. The Debian package
installs all three. By hand, put the first line into ~/.bashrc, or the second into ~/.zshrc after
compinit, or save what the third prints:

  source <(once completion bash)
  source <(once completion zsh)
  once completion fish > ~/.config/fish/completions/once.fish

Example:
  once completion bash
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::completion_command
