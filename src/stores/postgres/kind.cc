// postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&timeout=SECONDS&connections=N and all
// that libpq knows, such as sslmode=verify-full
#include <algorithm>
#include <utility>

#include "kernel/store_kind.h"
#include "once/postgres_store.h"
#include "stores/postgres/home_listener.h"

namespace once {
namespace {

// libpq would take a part of such a password for the host, and print it.
Result<void> check_place(std::string_view place) {
  if (!place.starts_with("//")) {
    return failure(ErrorCode::invalid,
                   "an address of PostgreSQL is postgres://USER@HOST:PORT/DATABASE?schema=once");
  }
  if (std::ranges::count(place, '@') <= 1) return {};
  return failure(ErrorCode::invalid,
                 "an address of PostgreSQL has one @; write others, in a password, as %40");
}

// What is libpq's stays as it is written.
Result<PostgresOptions> options_of(const Address& address) {
  if (Result<void> ok = check_place(address.place); !ok) return std::unexpected(ok.error());
  PostgresOptions options;
  std::string libpqs;
  std::string_view rest = address.options;
  while (!rest.empty()) {
    const std::string_view option = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(option.size() + 1, rest.size()));
    const std::size_t equals = option.find('=');
    const std::string_view name = option.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : option.substr(equals + 1);
    if (name == "password" || name == "sslpassword") {
      return failure(
          ErrorCode::invalid,
          "a password in an address goes before the @, where it is never printed; or use "
          "PGPASSWORD or libpq's password file");
    }
    if (name == "schema") {
      options.schema = value;
    } else if (name == "timeout" || name == "connections") {
      if (!set_server_option(options, name, value)) {
        return failure(ErrorCode::invalid, "postgres: " + std::string(name) + " is 1 to 1000");
      }
    } else {
      libpqs.append(libpqs.empty() ? "?" : "&").append(option);
    }
  }
  options.connection = "postgres:" + address.place + libpqs;
  return options;
}

Result<std::unique_ptr<Store>> open_at(const Address& address, const OpenOptions& /*options*/) {
  const Result<PostgresOptions> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return open_postgres(*options);
}

Result<void> create_table_at(const Address& address, const std::string& role) {
  const Result<PostgresOptions> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return create_postgres_schema(*options, role);
}

Result<std::string> table_sql_at(const Address& address, const std::string& role) {
  const Result<PostgresOptions> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return postgres_schema_sql(*options, role);
}

Result<std::string> check_table_at(const Address& address) {
  const Result<PostgresOptions> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return check_postgres_schema(*options);
}

std::unique_ptr<HomeWatch> watch_homes_at(const Address& address) {
  Result<PostgresOptions> options = options_of(address);
  return options ? std::make_unique<postgres::HomeListener>(std::move(*options)) : nullptr;
}

Result<void> check_writable_of(Store& store) {
  const auto* const ours = dynamic_cast<const PostgresStore*>(&store);
  if (ours == nullptr) return failure(ErrorCode::unsupported, "not a store on PostgreSQL");
  return ours->check_writable();
}

}  // namespace

StoreKind postgres_kind() {
  return {.scheme = "postgres",
          .other_scheme = "postgresql",
          .example = "postgres://user@host/database",
          .description = "a schema of a PostgreSQL database, shared by any number of processes",
          .is_server = true,
          .open = open_at,
          .create_table = create_table_at,
          .table_sql = table_sql_at,
          .check_table = check_table_at,
          .check_writable = check_writable_of,
          .watch_homes = watch_homes_at};
}

}  // namespace once
