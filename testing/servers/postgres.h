// Debian's PostgreSQL 15, which starts in about two seconds, most of them for a new directory; and
// its pgbouncer.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testing/servers/port_server.h"

namespace once::testing {

class PostgresServer;

// What a new server is made of.
struct PostgresParts {
  std::vector<std::string> settings = {};   // NAME=VALUE, which go before ours in effect.
  const PostgresServer* primary = nullptr;  // Not null: it is a standby of that.
  std::filesystem::path wal = {};           // Not empty: where its log is, in small segments.
};

class PostgresServer final : public PortServer {
 public:
  // Why it cannot be started on this machine; nothing if it can.
  static std::optional<std::string> missing();

  // One that syncs before every answer.
  explicit PostgresServer(std::vector<std::string> settings = {})
      : PostgresServer(PostgresParts{.settings = std::move(settings)}) {}
  explicit PostgresServer(const PostgresParts& parts);
  ~PostgresServer() override;

  // For open_postgres(). The role `once` may do everything.
  std::string connection(const std::string& role = "once") const {
    return "postgres://" + role + "@127.0.0.1:" + std::to_string(port()) + "/postgres";
  }
  std::string address(const std::string& schema = "once") const {
    return connection() + "?schema=" + schema;
  }

  // Makes a standby a primary; back when it takes writes.
  void promote() const { psql("select pg_promote()"); }

  // One statement or several, as psql prints their rows: without a frame, columns with | between.
  std::string psql(const std::string& sql) const;

  // Seconds that PostgreSQL takes for so many `insert … on conflict do nothing` by so many clients,
  // by pgbench's own clock. Keys and values are as long as a claim's.
  double seconds_of_inserts(std::size_t clients, std::size_t count) const;

  // The same for so many rows by inserts of `batch` rows each, and for appends to one stream whose
  // index is a row that counts: an update and an insert in a transaction.
  double seconds_of_batches(std::size_t clients, std::size_t count, std::size_t batch) const;
  double seconds_of_counted_appends(std::size_t clients, std::size_t count) const;

 private:
  std::unique_ptr<Daemon> launch() override;
  bool comes_up(Daemon& daemon) override;
  void await_end() const;
  double seconds_of_script(const std::string& script, std::size_t clients,
                           std::size_t transactions) const;

  const std::vector<std::string> settings_;
};

// In front of a server, in transaction mode: each statement may go to another connection.
class Pgbouncer final : public PortServer {
 public:
  static std::optional<std::string> missing();

  explicit Pgbouncer(const PostgresServer& server);

  std::string connection() const {
    return "postgres://once@127.0.0.1:" + std::to_string(port()) + "/postgres";
  }

 private:
  std::unique_ptr<Daemon> launch() override;
  bool comes_up(Daemon& daemon) override;

  const PostgresServer& server_;
};

}  // namespace once::testing
