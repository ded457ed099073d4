// The store on PostgreSQL beside pgbench on the same server, which syncs before every answer:
// single claims and batches of ids against inserts `on conflict do nothing`, and appends to one
// stream against a row that counts. Other operations are in stores_bench.
#include <atomic>
#include <cstdio>
#include <latch>

#include "bench/harness.h"
#include "once/batching_driver.h"
#include "once/claims.h"
#include "once/log.h"
#include "once/postgres_store.h"
#include "testing/servers/postgres.h"

namespace once::bench {
namespace {

using Clock = std::chrono::steady_clock;
using testing::PostgresServer;

constexpr std::size_t kClients = 50;
constexpr std::size_t kAppenders = 16;
constexpr std::size_t kBatch = 100;

// As in a server: so many clients that wait for their answers, without a thread for each.
template <class T>
class InFlight {
 public:
  using MakePlan = std::function<Plan<T>(std::size_t number)>;

  InFlight(BatchingDriver& driver, std::size_t clients, std::size_t count, MakePlan plan)
      : clients_(clients),
        count_(count),
        plan_(std::move(plan)),
        driver_(driver),
        through_(static_cast<std::ptrdiff_t>(clients)) {}

  double seconds() {
    const auto begun = Clock::now();
    for (std::size_t i = 0; i < clients_; ++i) next();
    through_.wait();
    return std::chrono::duration<double>(Clock::now() - begun).count();
  }

 private:
  void next() {
    const std::size_t number = begun_.fetch_add(1);
    if (number >= count_) return through_.count_down();
    const auto started = driver_.start<T>(plan_(number), [this](const Result<T>& answer) {
      insist(answer.has_value(), "a plan");
      next();
    });
    insist(started.has_value(), "starting a plan");
  }

  const std::size_t clients_;
  const std::size_t count_;
  const MakePlan plan_;
  BatchingDriver& driver_;
  std::atomic<std::size_t> begun_ = 0;
  std::latch through_;
};

class Comparison {
 public:
  explicit Comparison(bool quick) : quick_(quick) {
    create_postgres_schema(options()).value();
    store_ = open_postgres(options()).value();
    driver_ = std::make_unique<BatchingDriver>(*store_);
  }

  void claims() {
    const std::size_t count = quick_ ? 2'000 : 50'000;
    contest(
        "single claims, 50 clients", count, 1.5,
        [&] {
          return in_flight<ClaimOutcome>(kClients, count, [this](std::size_t) {
            return claims::take(claims::claim_key("bench", name()), {.owner = "bench"});
          });
        },
        [&] { return server_.seconds_of_inserts(kClients, count); });
  }

  void batches() {
    const std::size_t count = quick_ ? 20'000 : 500'000;
    const auto plan = [this](std::size_t) {
      std::vector<Key> ids;
      for (std::size_t i = 0; i < kBatch; ++i) ids.push_back(claims::seen_key("bench", name()));
      return claims::seen(std::move(ids), std::chrono::hours(24), "");
    };
    contest(
        "ids, 100 at once, 50 clients", count, 3.0,
        [&] { return in_flight<claims::Seen>(kClients, count / kBatch, plan); },
        [&] { return server_.seconds_of_batches(kClients, count, kBatch); });
  }

  void appends() {
    const std::size_t count = quick_ ? 1'600 : 20'000;
    const LogEvent event{std::string(100, 'e'), std::nullopt};
    const auto plan = [this, event](std::size_t) {
      return logs::append(logs::stream("bench", "s"), {event}, AppendRequest{}, &ends_);
    };
    contest(
        "appends, 16 on one stream", count, 5.0,
        [&] { return in_flight<AppendOutcome>(kAppenders, count, plan); },
        [&] { return server_.seconds_of_counted_appends(kAppenders, count); });
  }

 private:
  PostgresOptions options() const { return {.connection = server_.connection()}; }
  std::string name() { return "n" + std::to_string(++names_); }

  template <class T>
  double in_flight(std::size_t clients, std::size_t count, typename InFlight<T>::MakePlan plan) {
    return InFlight<T>(*driver_, clients, count, std::move(plan)).seconds();
  }

  void contest(const std::string& name, std::size_t operations, double target, Trial ours,
               Trial yardstick) const {
    run({.name = name,
         .operations = operations,
         .target = target,
         .rounds = quick_ ? std::size_t{1} : std::size_t{5},
         .ours = std::move(ours),
         .yardstick = std::move(yardstick)});
  }

  const bool quick_;
  std::atomic<std::size_t> names_ = 0;
  logs::KnownEnds ends_;
  const PostgresServer server_;
  std::unique_ptr<PostgresStore> store_;
  std::unique_ptr<BatchingDriver> driver_;
};

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  const once::bench::Options options = once::bench::options_from(count, words);
  if (const auto missing = once::testing::PostgresServer::missing()) {
    std::printf("%s\n", missing->c_str());
    return 0;
  }
  once::bench::Comparison comparison(options.quick);
  once::bench::print_heading("on PostgreSQL, synced", "pgbench");
  comparison.claims();
  comparison.batches();
  comparison.appends();
  return options.quick ? 0 : once::bench::exit_code();  // One short round proves nothing.
}
