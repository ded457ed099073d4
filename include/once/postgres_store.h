// The store on PostgreSQL 14 or later: one schema of a database, shared by any number of processes
// and machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "once/entropy.h"
#include "once/store.h"

namespace once {

struct PostgresOptions {
  // Where the database is, as libpq takes it: "postgres://user@host:5432/database?sslmode=require",
  // or "host=… dbname=…". What it leaves out comes from libpq's environment and files.
  std::string connection;

  std::string schema = "once";

  // No call takes longer. What lost connections, locks and races leave open is tried again until
  // then.
  Duration timeout = std::chrono::seconds(10);

  std::size_t connections = 16;  // At most.
};

struct PostgresCounts {
  std::uint64_t requests = 0;      // Statements, each of them one round trip.
  std::uint64_t rows_written = 0;  // By commits that were answered.
};

class PostgresStore : public Store {
 public:
  // Since it was opened.
  virtual PostgresCounts counts() const = 0;

  // The error of a commit that the server refused within the last ten seconds because its disk is
  // full, unless another was made since.
  virtual Result<void> check_writable() const = 0;
};

// `unavailable`: nobody answers, or there is no such schema; `denied`: not with this user and
// password, or not its to use; `invalid`: a bad option; `unsupported`: an older PostgreSQL, a
// standby, or what a newer version of Once has made. Messages say what to do.
//
// A group of commits is one request. describe() says in plain words when the server may lose what
// it has answered. `clock` and `entropy` must outlive the store: between answers of the server,
// now() goes on at the pace of `clock`; what it shows does not matter.
Result<std::unique_ptr<PostgresStore>> open_postgres(const PostgresOptions& options,
                                                     Clock& clock = boot_clock(),
                                                     Entropy& entropy = system_entropy());

// Makes the schema, or what is missing of it, and replaces its functions: one transaction, which
// may be repeated. `role`, unless empty, may then call the functions, and nothing else.
Result<void> create_postgres_schema(const PostgresOptions& options, const std::string& role = {});

// The SQL of that.
Result<std::string> postgres_schema_sql(const PostgresOptions& options,
                                        const std::string& role = {});

// A line for each thing that is as it should be; an error names the first that is not.
Result<std::string> check_postgres_schema(const PostgresOptions& options);

}  // namespace once
