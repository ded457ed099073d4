#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/invocation.h"
#include "cli/target.h"
#include "once/open.h"

namespace once::cli::table_command {
namespace {

int check(const Invocation& invocation) {
  const Result<std::string> address = named_store(invocation);
  if (!address) return print_error(invocation, address.error());
  const Result<std::string> lines = check_table(*address);
  if (!lines) return print_error(invocation, lines.error());
  std::cout << *lines;
  return kDone;
}

int create(const Invocation& invocation) {
  const Result<std::string> address = named_store(invocation);
  if (!address) return print_error(invocation, address.error());
  const Result<void> created = create_table(*address);
  if (!created) return print_error(invocation, created.error());
  return check(invocation);
}

constexpr std::array kVerbs = {
    Verb{.name = "create", .run = create},
    Verb{.name = "check", .run = check},
};

}  // namespace

const Command kCommand = {
    .name = "table",
    .summary = "Makes or checks the table of a store on DynamoDB",
    .help = R"(Usage: once table create --store "dynamodb://TABLE?region=REGION"
       once table check --store "dynamodb://TABLE?region=REGION"

'create' makes the table, paid by request, and has DynamoDB remove what has expired; it returns when
the table can be used. A table that is there is kept as it is. 'check' says whether a table can be
used: its keys are to be pk (a string) and sk (a number), and its time to live is to be by attribute
ttl. Any tool may make such a table instead.

Keys come from where Amazon's own tools look for them. An address takes, besides region:
  endpoint=URL     something else that speaks like DynamoDB; also from AWS_ENDPOINT_URL_DYNAMODB
  timeout=SECONDS  the longest that a call may take, 10 by default
  connections=N    the most requests in flight, 64 by default

Example:
  once table create --store "dynamodb://jobs?region=eu-west-1"
  once table check --store "dynamodb://jobs?region=eu-west-1"
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::table_command
