// The store on Redis, against a server that syncs its file before every answer. First claims with
// 50 in flight, beside Redis's own SET NX by redis-benchmark with 50 clients; then operations a
// second and what each costs in requests.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <thread>

#include "bench/harness.h"
#include "once/batching_driver.h"
#include "once/claims.h"
#include "once/log.h"
#include "once/redis_store.h"
#include "once/tallies.h"
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

// By redis-benchmark's own clock: starting it is not counted. Keys and values as long as a claim's.
double set_nx(const RedisServer& server, std::size_t claims) {
  const std::string line = "redis-benchmark -p " + std::to_string(server.port()) + " -c " +
                           std::to_string(kClients) + " -n " + std::to_string(claims) +
                           " -r 1000000000 --csv SET 'claim/bench/__rand_int__' " +
                           std::string(100, 'v') + " NX PX 86400000 2>/dev/null";
  std::array<char, 1024> room{};
  FILE* const out = ::popen(line.c_str(), "r");
  insist(out != nullptr, "redis-benchmark");
  double rate = 0;
  while (std::fgets(room.data(), room.size(), out) != nullptr) {
    // "SET …","12345.67",…
    const std::string text = room.data();
    const std::size_t at = text.find("\",\"");
    if (text.starts_with("\"SET") && at != std::string::npos) {
      rate = std::strtod(text.c_str() + at + 3, nullptr);
    }
  }
  ::pclose(out);
  insist(rate > 0, "redis-benchmark says no rate");
  return static_cast<double>(claims) / rate;
}

// Fifty threads that call, and wait for every answer.
double claim_blocking(RedisStore& store, const std::string& trial, std::size_t claims) {
  Claims claiming(store, "bench");
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
       .yardstick = [&] { return set_nx(server, claims); }});
  run({.name = "batching",
       .operations = claims,
       .target = 0.5,
       .rounds = rounds,
       .ours = [&] { return Batched(*store, trial(), claims).run(); },
       .yardstick = [&] { return set_nx(server, claims); }});
}

// One line: `operation(thread, n)` by so many threads at once.
void measure(RedisStore& store, const char* name, std::size_t in_flight, std::size_t total,
             const std::function<bool(std::size_t thread, std::size_t n)>& operation) {
  const std::size_t each = std::max<std::size_t>(1, total / in_flight);
  const RedisCounts before = store.counts();
  const auto begun = Clock::now();
  on_threads(in_flight, [&](std::size_t thread) {
    for (std::size_t n = 0; n < each; ++n) insist(operation(thread, n), name);
  });
  const double seconds = seconds_since(begun);
  const auto done = static_cast<double>(each * in_flight);
  std::printf("%-12s %9zu %10.0f %13.2f\n", name, in_flight, done / seconds,
              static_cast<double>(store.counts().requests - before.requests) / done);
  std::fflush(stdout);
}

void operations(const RedisServer& server, bool quick) {
  const auto store = open(server);
  Claims claims(*store);
  Log log(*store);
  Tallies tallies(*store);
  std::printf("\n%-12s %9s %10s %13s\n", "operation", "in flight", "a second", "requests each");
  const std::size_t total = quick ? 256 : 20'000;
  for (const std::size_t in_flight : {1U, 8U, 64U}) {
    const auto key = [&](std::size_t thread, std::size_t n) {
      return std::to_string(in_flight) + "/" + std::to_string(thread) + "/" + std::to_string(n);
    };
    const auto take = [&](std::size_t thread, std::size_t n) {
      return claims.take(key(thread, n), {}).has_value();
    };
    measure(*store, "claim", in_flight, total, take);
    measure(*store, "duplicate", in_flight, total, take);
    measure(*store, "append", in_flight, total, [&](std::size_t thread, std::size_t) {
      return log.append(key(thread, 0), {{"event", std::nullopt}}).has_value();
    });
    measure(*store, "add", in_flight, total, [&](std::size_t thread, std::size_t) {
      return tallies.merge(key(thread, 0), {.input = std::int64_t{1}}).has_value();
    });
  }
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
  once::bench::operations(server, options.quick);
}
