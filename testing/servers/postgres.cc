#include "testing/servers/postgres.h"

#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace once::testing {
namespace {

constexpr const char* kPostgres = "/usr/lib/postgresql/15/bin/";
constexpr const char* kPostgresUser = "postgres";

bool is_root() { return ::geteuid() == 0; }

// PostgreSQL refuses to run as root.
std::vector<std::string> as_ordinary_user(std::vector<std::string> words) {
  if (!is_root()) return words;
  std::vector<std::string> all = {"setpriv", std::string("--reuid=") + kPostgresUser,
                                  std::string("--regid=") + kPostgresUser, "--clear-groups",
                                  "--pdeathsig=KILL"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

void give_to_ordinary_user(const std::filesystem::path& path) {
  if (!is_root()) return;
  const passwd* const user = ::getpwnam(kPostgresUser);
  if (user == nullptr || ::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) std::abort();
}

std::unique_ptr<Daemon> daemon_of(std::vector<std::string> words,
                                  const std::filesystem::path& directory) {
  const std::vector<std::string> all = as_ordinary_user(std::move(words));
  return std::make_unique<Daemon>(all[0], std::vector(all.begin() + 1, all.end()), directory);
}

// In single quotes for the shell.
std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The command that makes a data directory.
std::vector<std::string> making_words(const PostgresParts& parts) {
  if (parts.primary != nullptr) {
    return {std::string(kPostgres) + "pg_basebackup",
            "--dbname=" + parts.primary->connection(),
            "--pgdata=data",
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync"};
  }
  std::vector<std::string> words = {std::string(kPostgres) + "initdb",
                                    "--pgdata=data",
                                    "--auth=trust",
                                    "--username=once",
                                    "--encoding=UTF8",
                                    "--locale=C",
                                    "--no-sync"};
  if (!parts.wal.empty()) {
    words.insert(words.end(), {"--wal-segsize=1", "--waldir=" + parts.wal.string()});
  }
  return words;
}

// Processes that work in this directory, as PostgreSQL's do.
bool is_in_use(const std::filesystem::path& directory) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::filesystem::path at = std::filesystem::read_symlink(entry.path() / "cwd", ignored);
    if (!ignored && at == directory) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> PostgresServer::missing() {
  if (std::filesystem::exists(std::string(kPostgres) + "postgres") && installed("psql")) {
    return std::nullopt;
  }
  return "PostgreSQL 15 is not installed; see scripts/install-deps";
}

PostgresServer::PostgresServer(const PostgresParts& parts)
    : PortServer("PostgreSQL"), settings_(parts.settings) {
  give_to_ordinary_user(directory());
  const std::unique_ptr<Daemon> made = daemon_of(making_words(parts), directory());
  while (made->alive()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (!std::filesystem::exists(directory() / "data/PG_VERSION")) {
    std::fprintf(stderr, "PostgreSQL cannot be made: %s\n", made->log().c_str());
  }
  begin();
}

// As at a crash, but quicker than its processes find out by themselves.
PostgresServer::~PostgresServer() {
  if (pid() > 0) ::kill(pid(), SIGQUIT);
  await_end();
}

void PostgresServer::await_end() const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (is_in_use(directory() / "data") && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string PostgresServer::psql(const std::string& sql) const {
  return output_of("psql -X -q -A -t -v ON_ERROR_STOP=1 " + shell_quoted(connection()) + " -c " +
                   shell_quoted(sql) + " 2>&1");
}

double PostgresServer::seconds_of_inserts(std::size_t clients, std::size_t count) const {
  return seconds_of_batches(clients, count, 1);
}

double PostgresServer::seconds_of_batches(std::size_t clients, std::size_t count,
                                          std::size_t batch) const {
  psql("create table if not exists claims (key text primary key, value bytea, expiry bigint)");
  std::string script = "\\set n random(1, 1000000000)\ninsert into claims values ";
  for (std::size_t i = 0; i < batch; ++i) {
    script += (i > 0 ? ", " : "") +
              ("('claim/bench/' || (:n::bigint + " + std::to_string(i * 1'000'000'007)) + "), '" +
              std::string(100, 'v') + "', 86400000)";
  }
  return seconds_of_script(script + " on conflict do nothing;\n", clients, count / batch);
}

double PostgresServer::seconds_of_counted_appends(std::size_t clients, std::size_t count) const {
  psql(
      "create table if not exists counters (stream text primary key, next bigint); "
      "insert into counters values ('s', 1) on conflict do nothing; "
      "create table if not exists events (stream text, index bigint, event bytea, "
      "primary key (stream, index))");
  const std::string event(100, 'e');
  return seconds_of_script(
      "begin;\n"
      "update counters set next = next + 1 where stream = 's' returning next - 1 as taken \\gset\n"
      "insert into events values ('s', :taken, '" +
          event + "');\ncommit;\n",
      clients, count);
}

double PostgresServer::seconds_of_script(const std::string& script, std::size_t clients,
                                         std::size_t transactions) const {
  const std::filesystem::path file = directory() / "bench.sql";
  std::ofstream(file) << script;
  const std::size_t each = std::max<std::size_t>(1, transactions / clients);
  const std::string said =
      output_of(std::string(kPostgres) + "pgbench -n -M prepared -j 2 -c " +
                std::to_string(clients) + " -t " + std::to_string(each) + " -f " + file.string() +
                " " + shell_quoted(connection()) + " 2>&1");
  const std::size_t at =
      said.find("aborted") == std::string::npos ? said.find("tps = ") : std::string::npos;
  const double rate = at == std::string::npos ? 0 : std::strtod(said.c_str() + at + 6, nullptr);
  if (rate <= 0) throw std::runtime_error("pgbench says no rate: " + said);
  return static_cast<double>(transactions) / rate;
}

std::unique_ptr<Daemon> PostgresServer::launch() {
  await_end();  // What a killed one left behind.
  std::vector<std::string> words = {std::string(kPostgres) + "postgres", "-D", "data"};
  std::vector<std::string> settings = {"port=" + std::to_string(port()),
                                       "listen_addresses=127.0.0.1",
                                       "unix_socket_directories=",
                                       "max_connections=200",
                                       "shared_buffers=32MB",
                                       "autovacuum_naptime=1min"};
  settings.insert(settings.end(), settings_.begin(), settings_.end());
  for (const std::string& setting : settings) {
    words.emplace_back("-c");
    words.push_back(setting);
  }
  return daemon_of(std::move(words), directory());
}

bool PostgresServer::comes_up(Daemon& daemon) {
  return daemon.says("database system is ready to accept");  // Connections, or read-only ones.
}

std::optional<std::string> Pgbouncer::missing() {
  if (installed("pgbouncer") || std::filesystem::exists("/usr/sbin/pgbouncer")) {
    return PostgresServer::missing();
  }
  return "pgbouncer is not installed; see scripts/install-deps";
}

Pgbouncer::Pgbouncer(const PostgresServer& server) : PortServer("pgbouncer"), server_(server) {
  give_to_ordinary_user(directory());
  begin();
}

std::unique_ptr<Daemon> Pgbouncer::launch() {
  std::ofstream(directory() / "pgbouncer.ini")
      << "[databases]\npostgres = host=127.0.0.1 port=" << server_.port()
      << " user=once\n[pgbouncer]\n"
      << "listen_addr = 127.0.0.1\nlisten_port = " << port()
      << "\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 4\n";
  return daemon_of({"/usr/sbin/pgbouncer", "pgbouncer.ini"}, directory());
}

bool Pgbouncer::comes_up(Daemon& daemon) { return daemon.says("process up"); }

}  // namespace once::testing
