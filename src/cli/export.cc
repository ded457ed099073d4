#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/export_text.h"
#include "cli/walk.h"

namespace once::cli::export_command {
namespace {

int run(const Invocation& invocation) {
  const auto target = open_target(invocation);
  Progress progress("items", Progress::Output::as_it_goes);
  LastLine last;
  Walk walk(invocation, *target, progress);
  const auto print = [&](const std::string& line, std::uint32_t check) {
    // Not before there is something to print: what cannot be read leaves no beginning behind.
    if (last.items++ == 0) std::cout << first_line() << '\n';
    last.check += check;
    std::cout << line << '\n';
  };
  if (const int exit = walk.run(print); exit != kDone) return exit;
  if (!walk.alone()) {
    Walk again(invocation, *target, progress);
    const int exit = again.run([](const std::string&, std::uint32_t) {});
    if (exit != kDone) return exit;
    if (!walk.agrees_with(again)) {
      std::cerr << "once export: the store was written to meanwhile, and what was printed is no "
                   "whole export; try again when nobody writes\n";
      return kBusy;
    }
  }
  if (last.items == 0) std::cout << first_line() << '\n';
  last.time = walk.began();
  std::cout << last_line(last) << '\n';
  return kDone;
}

constexpr std::array kVerbs = {Verb{.run = run}};

}  // namespace

const Command kCommand = {
    .name = "export",
    .summary = "Writes all that a store holds as lines of JSON",
    .help = R"help(Usage: once export [--namespace NAME]

Writes every item of the store, or of one namespace, as a line of JSON. 'once import' makes a store of
them that goes on where this one ended: results, fences, indexes and ETags stay as they are. The last
line tells that the export is whole.

An export is the store at one moment. A directory without a server is held so long; where others may
write, through a server or on a shared store, the items are read a second time, and if something was
written meanwhile the exit is 75 and the last line is missing, so that no import takes it.

Example:
  once export > backup.ndjson
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::export_command
