#include <array>

#include "cli/answer.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"

namespace once::cli::token_command {
namespace {

int make(const Invocation& invocation) {
  api::JsonObject body;
  if (const auto bound = invocation.option("namespace")) body.text("namespace", *bound);
  if (invocation.flag("read-only")) body.boolean("read_only", true);
  add_texts(body, invocation, {"label"});
  add_durations(body, invocation, {"expires"});
  // The namespace is what the token is bound to, not where the request goes.
  api::Request request{"POST", "/v1/tokens", {}, body.finish()};
  // Sent once: the token of a first try would be known to nobody, and stay.
  return write_and_print(invocation, request, {.repeat = remote::Repeat::never});
}

int list(const Invocation& invocation) {
  const api::Request request{"GET", "/v1/tokens", {}, ""};
  return print_answer(invocation, open_target(invocation)->call(request), [](api::Json body) {
    Table table({"ID", "NAMESPACE", "READ ONLY", "CREATED", "EXPIRES", "LABEL"});
    for (const api::Json token : simdjson::dom::array(body["tokens"])) {
      table.add({member(token, "id"), member(token, "namespace"), member(token, "read_only"),
                 member(token, "created_at"), member(token, "expires_at"), member(token, "label")});
    }
    simdjson::dom::array damaged;
    if (body["damaged"].get(damaged) == simdjson::SUCCESS) {
      for (const api::Json id : damaged) {
        table.add({shown(id), "", "", "", "", "damaged: it lets nobody in, and can be revoked"});
      }
    }
    table.print();
  });
}

int revoke(const Invocation& invocation) {
  const api::Request request{"DELETE", path_to("tokens", invocation.words[0]), {}, ""};
  return print_answer(invocation,
                      open_target(invocation)->write(request, {.repeat = remote::Repeat::never}),
                      [](api::Json) {});
}

constexpr std::array kNewOptions = {Option{"read-only", Option::Kind::flag}, Option{"label"},
                                    Option{"expires"}};
constexpr std::array kVerbs = {
    Verb{.name = "new", .options = kNewOptions, .run = make},
    Verb{.name = "list", .run = list},
    Verb{.name = "revoke", .least = 1, .most = 1, .words = "ID", .run = revoke},
};

}  // namespace

const Command kCommand = {
    .name = "token",
    .summary = "Makes, lists and revokes tokens that let callers in",
    .help = R"(Usage: once token new [--namespace N] [--read-only] [--expires 90d] [--label TEXT]
       once token list
       once token revoke ID

'new' prints a token, this once: the store keeps only its hash. As soon as a store has a token, its
server asks every caller for one (Authorization: Bearer TOKEN; commands take it from --token-file or
ONCE_TOKEN). A token with a namespace works in that one alone; one that is --read-only changes
nothing. Only a token with neither may make, list and revoke tokens. A server knows of a change within
two seconds. A store that ever had a token stays closed: once the last one is revoked or has expired,
nobody is let in until there is a new one (on a directory: made with the server stopped).

Example:
  once token new --namespace billing --label "the billing service"
  once token list
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::token_command
