#include "server/running_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>

#include "api/findings.h"

namespace once::server {
namespace {

using metrics::Exposition;
using metrics::Labels;
using Type = Exposition::Type;

constexpr std::array<std::string_view, kErrorCodes> kCodes = {
    "invalid", "too_large", "denied", "unavailable", "unknown", "unsupported", "corrupt"};
static_assert(static_cast<std::size_t>(ErrorCode::invalid) == 0);
static_assert(static_cast<std::size_t>(ErrorCode::too_large) == 1);
static_assert(static_cast<std::size_t>(ErrorCode::denied) == 2);
static_assert(static_cast<std::size_t>(ErrorCode::unavailable) == 3);
static_assert(static_cast<std::size_t>(ErrorCode::unknown) == 4);
static_assert(static_cast<std::size_t>(ErrorCode::unsupported) == 5);
static_assert(static_cast<std::size_t>(ErrorCode::corrupt) == 6);

struct Operation {
  std::string_view name;
  const OperationMetrics& metrics;
};

std::array<Operation, 5> operations_of(const StoreMetrics& counted) {
  return {Operation{"get", counted.get}, Operation{"scan", counted.scan},
          Operation{"list", counted.list}, Operation{"commit", counted.commit},
          Operation{"commit_each", counted.commit_each}};
}

Latency commits_of(const StoreMetrics& counted) {
  Latency both = counted.commit.latency;
  for (std::size_t i = 0; i < both.buckets.size(); ++i) {
    both.buckets[i] += counted.commit_each.latency.buckets[i];
  }
  both.total += counted.commit_each.latency.total;
  return both;
}

void write_refusals(Exposition& out, const Judgement& judgement) {
  out.family("once_browser_refusals_total",
             "Requests refused for the web page that sent them, or the host that they name.",
             Type::counter);
  for (std::size_t why = 0; why < kBrowserRefusals.size(); ++why) {
    out.sample({{"reason", kBrowserRefusals[why]}},
               judgement.refused(static_cast<BrowserRefusal>(why)));
  }
}

void write_budgets(Exposition& out, const Budgets& budgets) {
  struct Row {
    std::string_view of;
    const Budget& budget;
  };
  const std::array<Row, 2> rows = {Row{"bodies", budgets.bodies}, Row{"answers", budgets.answers}};
  out.family("once_held_bytes", "Bytes of large bodies and of unsent answers that are held.",
             Type::gauge);
  for (const Row& row : rows) {
    out.sample({{"of", row.of}}, static_cast<double>(row.budget.taken()));
  }
  out.family("once_held_bytes_limit", "How many bytes of each may be held.", Type::gauge);
  for (const Row& row : rows) {
    out.sample({{"of", row.of}}, static_cast<double>(row.budget.most()));
  }
  out.family("once_memory_refusals_total",
             "Bodies and answers refused because all, or those of their namespace, held too much.",
             Type::counter);
  for (const Row& row : rows) out.sample({{"of", row.of}}, row.budget.refused());
}

void write_driver(Exposition& out, const DriverCounts& counts) {
  out.family("once_waiting_claims", "Requests that wait for a claim.", Type::gauge);
  out.sample({}, static_cast<double>(counts.plans_waiting));
  out.family("once_waits_refused_total",
             "Requests answered as busy at once, because too many of their namespace wait.",
             Type::counter);
  out.sample({}, counts.waits_refused);
  out.family("once_long_work_waiting", "Long work that waits for its turn.", Type::gauge);
  out.sample({}, static_cast<double>(counts.long_work_waiting));
  out.family("once_long_work_refused_total",
             "Long work refused, because too much of its namespace waits.", Type::counter);
  out.sample({}, counts.long_work_refused);
}

void write_connections(Exposition& out, const Server& server) {
  out.family("once_connections", "Connections that are open.", Type::gauge);
  out.sample({}, static_cast<double>(server.connections()));
  out.family("once_connections_refused_total",
             "Connections beyond the limit of all or of their address, or without a TLS handshake.",
             Type::counter);
  for (std::size_t why = 0; why < kConnectionRefusals.size(); ++why) {
    out.sample({{"reason", kConnectionRefusals[why]}},
               server.refused_connections(static_cast<ConnectionRefusal>(why)));
  }
  if (const auto expires = server.certificate_expires()) {
    out.family("once_tls_certificate_expiry_seconds",
               "When the server's certificate ends, in seconds since 1970.", Type::gauge);
    out.sample({}, std::chrono::duration<double>(expires->time_since_epoch()).count());
  }
}

std::string_view name_of(StoreOperation operation) {
  switch (operation) {
    case StoreOperation::get: return "get";
    case StoreOperation::scan: return "scan";
    case StoreOperation::list: return "list";
    case StoreOperation::commit: return "commit";
    case StoreOperation::other: return "other";
  }
  return "";
}

void write_units(Exposition& out, const StoreUnits& units, std::string_view engine) {
  if (units.empty()) return;
  out.family("once_store_units_total",
             "What calls of the store made its server do: requests, and what it charges for.",
             Type::counter);
  for (const StoreUnit& unit : units) {
    out.sample({{"store", engine}, {"operation", name_of(unit.operation)}, {"kind", unit.kind}},
               unit.amount);
  }
}

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double size = 0;
  double resident = 0;
  in >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// User and system time together.
double cpu_seconds() {
  struct rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void write_descriptors(Exposition& out) {
  const std::optional<api::Descriptors> now = api::descriptors_of_process();
  if (!now) return;
  out.family("process_open_fds", "File descriptors that are open.", Type::gauge);
  out.sample({}, now->open);
  out.family("process_max_fds", "How many file descriptors may be open.", Type::gauge);
  out.sample({}, now->most);
}

}  // namespace

std::string engine_of(std::string_view description) {
  return std::string(description.substr(0, description.find_first_of(" ,:")));
}

std::uint64_t errors_of(const StoreMetrics& counted, ErrorCode code) {
  std::uint64_t count = 0;
  for (const Operation& operation : operations_of(counted)) count += operation.metrics.failed(code);
  return count;
}

void write_store(Exposition& out, const StoreMetrics& counted, std::string_view engine) {
  const auto operations = operations_of(counted);
  out.family("once_store_calls_total", "Calls of the store, a group of commits being one.",
             Type::counter);
  for (const Operation& operation : operations) {
    out.sample({{"store", engine}, {"operation", operation.name}}, operation.metrics.calls);
  }
  out.family("once_store_commits_total", "Commits that the store made, or that lost a guard.",
             Type::counter);
  out.sample({{"store", engine}, {"result", "committed"}},
             counted.commit.committed + counted.commit_each.committed);
  out.sample({{"store", engine}, {"result", "lost"}},
             counted.commit.lost + counted.commit_each.lost);
  out.family("once_store_errors_total", "Calls and commits that the store answered with an error.",
             Type::counter);
  for (std::size_t code = 0; code < kCodes.size(); ++code) {
    out.sample({{"store", engine}, {"code", kCodes[code]}},
               errors_of(counted, static_cast<ErrorCode>(code)));
  }
  write_units(out, counted.units, engine);
  const Latency commits = commits_of(counted);
  out.family("once_store_commit_seconds",
             "How long the store took for a commit, or for a group of them, its sync included.",
             Type::histogram);
  out.histogram({{"store", engine}}, kLatencyBounds, commits.buckets,
                std::chrono::duration<double>(commits.total).count());
}

void write_engine(Exposition& out, const std::vector<EngineNumber>& numbers) {
  for (const EngineNumber& number : numbers) {
    out.family(number.name, number.help,
               number.name.ends_with("_total") ? Type::counter : Type::gauge);
    out.sample({}, number.value);
  }
}

void write_followers(Exposition& out, FollowHub& hub) {
  out.family("once_followers", "Connections that follow a log.", Type::gauge);
  out.sample({}, static_cast<double>(hub.followers()));
}

RunningMetrics::RunningMetrics(metrics::Registry& registry, const MeteredStore* store,
                               const Server& server, std::string version,
                               const BatchingDriver* driver)
    : store_(store),
      server_(server),
      driver_(driver),
      version_(std::move(version)),
      engine_(store != nullptr ? engine_of(store->describe()) : ""),
      started_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      collecting_(registry, [this](Exposition& out) { write(out); }) {}

void RunningMetrics::write(Exposition& out) const {
  if (store_ != nullptr) write_store(out, store_->snapshot(), engine_);
  write_connections(out, server_);
  write_budgets(out, server_.budgets());
  if (driver_ != nullptr) write_driver(out, driver_->counts());
  if (server_.judgement().judges()) write_refusals(out, server_.judgement());
  out.family("once_build_info", "1, with the version of the program.", Type::gauge);
  out.sample({{"version", version_}}, 1.0);
  out.family("process_start_time_seconds", "When the server started, in seconds since 1970.",
             Type::gauge);
  out.sample({}, started_);
  out.family("process_resident_memory_bytes", "Memory that the process has in RAM.", Type::gauge);
  out.sample({}, resident_bytes());
  out.family("process_cpu_seconds_total", "Time that the process had a processor.", Type::counter);
  out.sample({}, cpu_seconds());
  write_descriptors(out);
}

}  // namespace once::server
