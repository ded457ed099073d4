#include "stores/postgres/schema.h"

#include <utility>

#include "stores/postgres/connection.h"
#include "stores/postgres/errors.h"
#include "stores/postgres/schema_sql.h"
#include "stores/postgres/startup.h"

namespace once::postgres {
namespace {

// Of those that there are to be: how many are missing, and how many are not this role's to call.
std::string missing_functions_sql(const std::string& schema) {
  return "select count(*) filter (where p.oid is null),"
         " count(*) filter (where not has_function_privilege(p.oid, 'execute'))"
         " from unnest(string_to_array('" +
         std::string(function_names()) +
         "', ', ')) f left join (pg_proc p join pg_namespace n on n.oid = p.pronamespace"
         " and n.nspname = '" +
         schema + "') on p.proname = f";
}

// `unknown`, because nobody reads back what a script has made; running it again is what helps.
Error creation_error(const Failure& failure, const std::string& schema) {
  Error error = error_of(failure, schema);
  if (failure.state == "ON002") error.code = ErrorCode::unsupported;
  if (failure.state == "42501") {
    error.message =
        "postgres: " + failure.message +
        " (42501); making a schema needs the right CREATE on the database, and changing "
        "one its owner. Have that role run this, or what --print prints";
  }
  if (failure.state == "25006") {
    error = {ErrorCode::unsupported, "postgres: this takes no writes; give the primary's address"};
  }
  return error;
}

}  // namespace

Result<void> create_schema(const PostgresOptions& options, const std::string& role) {
  const Deadline deadline = std::chrono::steady_clock::now() + options.timeout;
  Result<std::unique_ptr<Connection>> connection = Connection::open(options.connection, deadline);
  if (!connection) return std::unexpected(std::move(connection.error()));
  const auto done = (*connection)->exchange(creation_sql(options.schema, role), deadline);
  if (!done) return std::unexpected(creation_error(done.error(), options.schema));
  return {};
}

Result<std::string> describe_schema(const PostgresOptions& options) {
  Pool pool(options);
  ServerTime time(system_clock());
  const CallContext context{pool, time, std::chrono::steady_clock::now() + options.timeout};
  const Result<About> about = check_server(context);
  if (!about) return std::unexpected(about.error());
  const Statement question(missing_functions_sql(options.schema));
  const auto rows = pool.run(question, StoreOperation::other, context.deadline);
  if (!rows) return std::unexpected(reading_error_of(rows.error(), options.schema));
  if (rows->number(0, 0).value_or(1) > 0) {
    return failure(ErrorCode::invalid,
                   "functions are missing; run once table create with this version of Once");
  }
  if (rows->number(0, 1).value_or(1) > 0) {
    return failure(ErrorCode::denied,
                   "this role may not call all functions; run once table create --grant ROLE as "
                   "the schema's owner");
  }
  const Statement revision("select " + quoted_name(options.schema) + ".schema_revision()");
  const auto found = pool.run(revision, StoreOperation::other, context.deadline);
  if (!found) return std::unexpected(reading_error_of(found.error(), options.schema));
  if (found->number(0, 0).value_or(0) < kRevision) {
    return failure(ErrorCode::invalid,
                   "the functions are those of an earlier version; run once table create with this "
                   "version of Once");
  }
  return about->description + "\nformat " + std::to_string(kFormat) + ", functions of revision " +
         std::to_string(found->number(0, 0).value_or(0)) +
         "\nevery function is there, and this role may call it\n";
}

}  // namespace once::postgres
