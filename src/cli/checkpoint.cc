#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"

namespace once::cli::checkpoint_command {
namespace {

int run(const Invocation& invocation) {
  const auto target = open_target(invocation);
  const auto made = target->write(request_for(invocation, "POST", "/v1/checkpoints"),
                                  {.repeat = remote::Repeat::never});
  return print_answer(invocation, made,
                      [](api::Json body) { std::cout << member(body, "directory") << '\n'; });
}

constexpr std::array kVerbs = {Verb{.run = run}};

}  // namespace

const Command kCommand = {
    .name = "checkpoint",
    .summary = "Copies a directory's store as it stands, also while a server writes to it",
    .help = R"(Usage: once checkpoint

Makes a copy of an embedded store as it stands at one moment, without stopping those who write to it,
and prints its directory: a new one, named after the time, below 'checkpoints' in the store's own. The
copy is whole and opens as a store (--store DIRECTORY). Where a server runs, the server makes it, on
its machine.

Most of its files are shared with the store, so that it takes little time and room at first, and more
as the store changes. Copy it to another disk, then remove it; at most 32 are kept, and when there are
so many no more are made. To restore, stop the server and put a copy in place of the directory: what
was committed after the checkpoint is then as if it had never been.

Example:
  once seen first-id && once checkpoint
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::checkpoint_command
