#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"

namespace once::cli::hot_command {
namespace {

void print_keys(api::Json body) {
  Table table({"KEY", "CONFLICTS"});
  for (const api::Json key : body.at_key("keys")) {
    table.add({member(key, "key"), member(key, "conflicts")});
  }
  table.print();
}

int run(const Invocation& invocation) {
  const auto answer =
      open_target(invocation)
          ->call(request_for(invocation, "GET", "/v1/hot" + query_of(invocation, {"prefix"})));
  return print_answer(invocation, answer, print_keys);
}

constexpr std::array kOptions = {Option{"prefix"}};
constexpr std::array kVerbs = {Verb{.options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "hot",
    .summary = "Lists the keys with the most recent conflicts",
    .help = R"help(Usage: once hot [--prefix P]

Lists the keys with the most recent conflicts, the hottest first; with --prefix those that begin so,
with or without their kind: docs/orders/ or orders/. Counts halve every minute.
A server counts them from its start; a store without a server has no such list.

Example:
  once hot
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::hot_command
