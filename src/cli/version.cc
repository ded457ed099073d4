#include <array>
#include <iostream>

#include "cli/invocation.h"
#include "open/store_kinds.h"

namespace once::cli::version_command {
namespace {

// None of the texts holds a character that JSON escapes.
void print_json() {
  std::cout << R"({"version":")" ONCE_VERSION R"(","compiler":")" ONCE_COMPILER R"(","stores":[)";
  std::string_view comma;
  for (const StoreKind& store : store_kinds()) {
    std::cout << comma << '"' << store.scheme << '"';
    comma = ",";
  }
  std::cout << "]}\n";
}

void print_text() {
  std::cout << "once " ONCE_VERSION "\ncompiler " ONCE_COMPILER "\n";
  for (const StoreKind& store : store_kinds()) {
    std::cout << "store " << store.scheme << ": " << store.description << '\n';
  }
}

int run(const Invocation& invocation) {
  invocation.flag("json") ? print_json() : print_text();
  return kDone;
}

constexpr std::array kVerbs = {Verb{.run = run}};

}  // namespace

const Command kCommand = {
    .name = "version",
    .summary = "Says which version this is and which stores are built in",
    .help = R"help(Usage: once version [--json]

Says which version this is, what it was compiled with, and which stores are built in.

Example:
  once version --json
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::version_command
