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
  const std::string role = invocation.option("grant").value_or("");
  if (invocation.flag("print")) {
    const Result<std::string> sql = table_sql(*address, role);
    if (!sql) return print_error(invocation, sql.error());
    std::cout << *sql;
    return kDone;
  }
  const Result<void> created = create_table(*address, role);
  if (!created) return print_error(invocation, created.error());
  return check(invocation);
}

constexpr std::array kCreateOptions = {Option{"print", Option::Kind::flag}, Option{"grant"}};
constexpr std::array kVerbs = {
    Verb{.name = "create", .options = kCreateOptions, .run = create},
    Verb{.name = "check", .run = check},
};

}  // namespace

const Command kCommand = {
    .name = "table",
    .summary = "Makes or checks the table of a store on DynamoDB or PostgreSQL",
    .help = R"(Usage: once table create --store "dynamodb://TABLE?region=REGION"
       once table create --store "postgres://USER@HOST:PORT/DATABASE?schema=once"
                         [--grant ROLE] [--print]
       once table check --store ADDRESS

On DynamoDB, 'create' makes the table, paid by request, and has DynamoDB remove what has expired; it
returns when the table can be used. A table that is there is kept as it is. 'check' says whether a
table can be used: its keys are to be pk (a string) and sk (a number), and its time to live is to be
by attribute ttl. Any tool may make such a table instead. Keys come from where Amazon's own tools
look for them.

On PostgreSQL, 'create' makes a schema with its tables and functions, in one transaction; items that
are there are kept. Only the role that makes it may use it, and those that are named by --grant:
  --grant ROLE     this role may call the functions, and has no other way to the tables
  --print          prints the SQL, and runs nothing
A password comes from PGPASSWORD, from libpq's password file, or goes into the address.

An address takes, besides region and schema:
  endpoint=URL     something else that speaks like DynamoDB; also from AWS_ENDPOINT_URL_DYNAMODB
  timeout=SECONDS  the longest that a call may take, 10 by default
  connections=N    the most requests in flight: 64 by default, on PostgreSQL 16
  sslmode=MODE     and what else libpq knows, for PostgreSQL

Example:
  once table create --store "dynamodb://jobs?region=eu-west-1"
  once table check --store "dynamodb://jobs?region=eu-west-1"
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::table_command
