// The store on Redis, against a server that syncs its file before every answer: claims with 50 in
// flight, beside Redis's own SET NX by redis-benchmark with 50 clients. Other operations are in
// stores_bench.
#include <atomic>
#include <cstdio>
#include <latch>
#include <thread>

#include "bench/harness.h"
#include "once/batching_driver.h"
#include "once/claims.h"
#include "once/local.h"
#include "once/redis_store.h"
#include "testing/servers/redis_server.h"

namespace once::bench {
namespace {

using Clock = std::chrono::steady_clock;
using testing::RedisServer;

constexpr std::size_t kClients = 50;

std::unique_ptr<RedisStore> open(const RedisServer& server) {
  auto opened = open_redis({.port = server.port()});
  insist(opened.has_value(), "opening redis");
  return std::move(*opened);
}

void on_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { work(i); });
}

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

// Fifty threads that call, and wait for every answer.
double claim_blocking(RedisStore& store, const std::string& trial, std::size_t claims) {
  LocalClaims claiming(store, "bench");
  const auto begun = Clock::now();
  on_threads(kClients, [&](std::size_t client) {
    for (std::size_t n = 0; n < claims / kClients; ++n) {
      const auto taken = claiming.take(trial + std::to_string(client) + "/" + std::to_string(n),
                                       {.owner = "bench"});
      insist(taken && std::holds_alternative<Claimed>(*taken), "take");
    }
  });
  return seconds_since(begun);
}

// As in a server: fifty that wait for their answers without a thread.
class Batched {
 public:
  Batched(RedisStore& store, std::string trial, std::size_t claims)
      : trial_(std::move(trial)), claims_(claims), through_(kClients), driver_(store) {}

  double run() {
    const auto begun = Clock::now();
    for (std::size_t i = 0; i < kClients; ++i) take_next();
    through_.wait();
    return seconds_since(begun);
  }

 private:
  void take_next() {
    const std::size_t number = next_.fetch_add(1);
    if (number >= claims_) return through_.count_down();
    const Key key = claims::claim_key("bench", trial_ + std::to_string(number));
    const auto started = driver_.start<ClaimOutcome>(
        claims::take(key, {.owner = "bench"}), [this](const Result<ClaimOutcome>& taken) {
          insist(taken && std::holds_alternative<Claimed>(*taken), "take");
          take_next();
        });
    insist(started.has_value(), "starting a plan");
  }

  const std::string trial_;
  const std::size_t claims_;
  std::atomic<std::size_t> next_ = 0;
  std::latch through_;
  BatchingDriver driver_;  // Last: it uses all of the above.
};

void compare(const RedisServer& server, bool quick) {
  const std::size_t claims = quick ? 2'000 : 20'000;
  const std::size_t rounds = quick ? 1 : 5;
  const auto store = open(server);
  int trials = 0;
  const auto trial = [&] { return "t" + std::to_string(++trials) + "/"; };
  print_heading("new claims on redis, 50 in flight", "redis-benchmark: SET NX PX");
  run({.name = "blocking",
       .operations = claims,
       .target = 0.5,
       .rounds = rounds,
       .ours = [&] { return claim_blocking(*store, trial(), claims); },
       .yardstick = [&] { return server.seconds_of_set_nx(kClients, claims); }});
  run({.name = "batching",
       .operations = claims,
       .target = 0.5,
       .rounds = rounds,
       .ours = [&] { return Batched(*store, trial(), claims).run(); },
       .yardstick = [&] { return server.seconds_of_set_nx(kClients, claims); }});
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  const once::bench::Options options = once::bench::options_from(count, words);
  if (const auto missing = once::testing::RedisServer::missing()) {
    std::printf("%s\n", missing->c_str());
    return 0;
  }
  const once::testing::RedisServer server;
  once::bench::compare(server, options.quick);
  return once::bench::exit_code();
}
