#include "server/running_metrics.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>

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

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double size = 0;
  double resident = 0;
  in >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string engine_of(std::string_view description) {
  return std::string(description.substr(0, description.find_first_of(" ,")));
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
    std::uint64_t count = 0;
    for (const Operation& operation : operations) count += operation.metrics.errors[code];
    out.sample({{"store", engine}, {"code", kCodes[code]}}, count);
  }
  const Latency commits = commits_of(counted);
  out.family("once_store_commit_seconds",
             "How long the store took for a commit, or for a group of them, its sync included.",
             Type::histogram);
  out.histogram({{"store", engine}}, kLatencyBounds, commits.buckets,
                std::chrono::duration<double>(commits.total).count());
}

RunningMetrics::RunningMetrics(metrics::Registry& registry, const MeteredStore* store,
                               const Server& server, std::string version)
    : store_(store),
      server_(server),
      version_(std::move(version)),
      engine_(store != nullptr ? engine_of(store->describe()) : ""),
      started_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      collecting_(registry, [this](Exposition& out) { write(out); }) {}

void RunningMetrics::write(Exposition& out) const {
  if (store_ != nullptr) write_store(out, store_->snapshot(), engine_);
  out.family("once_connections", "Connections that are open.", Type::gauge);
  out.sample({}, static_cast<double>(server_.connections()));
  if (server_.judgement().judges()) write_refusals(out, server_.judgement());
  out.family("once_build_info", "1, with the version of the program.", Type::gauge);
  out.sample({{"version", version_}}, 1.0);
  out.family("process_start_time_seconds", "When the server started, in seconds since 1970.",
             Type::gauge);
  out.sample({}, started_);
  out.family("process_resident_memory_bytes", "Memory that the process has in RAM.", Type::gauge);
  out.sample({}, resident_bytes());
}

}  // namespace once::server
