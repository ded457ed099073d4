// seen() on the memory store against the usual checker: one mutex around a std::unordered_map
// from the whole id to when it was processed and when it expires. Two threads, ids of 36 bytes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "bench/claims.h"
#include "bench/harness.h"
#include "once/claims.h"
#include "once/local.h"
#include "once/memory_store.h"

namespace once::bench {
namespace {

using Steady = std::chrono::steady_clock;
using Ids = std::span<const std::string>;

constexpr Duration kTtl = std::chrono::hours(24);

// The text of a UUID, as most CloudEvents have.
std::string event_id(std::uint64_t number) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string id;
  std::uint64_t bits = 0;
  for (std::size_t digit = 0; digit < 32; ++digit, bits >>= 4) {
    if (digit % 16 == 0) bits = mixed(number * 2 + digit / 16);
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) id += '-';
    id += kHex[bits & 15];
  }
  return id;
}

// CheckAndMark of docs/recipes.md#4-idempotent-events without its race: one lock for look and
// store.
class Checker {
 public:
  // How many of the ids are new. The known design checks one at a time.
  std::size_t mark(Ids ids) {
    std::size_t fresh = 0;
    for (const std::string& id : ids) fresh += check_and_mark(id) ? 0 : 1;
    return fresh;
  }

 protected:
  using Clock = std::chrono::system_clock;

  // Requires the lock.
  bool check_and_mark_at(Clock::time_point now, const std::string& id) {
    const auto [at, fresh] = cache_.try_emplace(id, Entry{now, now + kTtl});
    if (fresh) return false;
    if (now <= at->second.expires_at) return true;
    at->second = {now, now + kTtl};
    return false;
  }

  std::mutex mutex_;

 private:
  struct Entry {
    Clock::time_point processed_at;
    Clock::time_point expires_at;
  };

  bool check_and_mark(const std::string& id) {
    const Clock::time_point now = Clock::now();
    const std::lock_guard lock(mutex_);
    return check_and_mark_at(now, id);
  }

  std::unordered_map<std::string, Entry> cache_;
};

// The same with batches, which the known design lists as a future enhancement.
class BatchChecker : public Checker {
 public:
  std::size_t mark(Ids ids) {
    const Clock::time_point now = Clock::now();
    const std::lock_guard lock(mutex_);
    std::size_t fresh = 0;
    for (const std::string& id : ids) fresh += check_and_mark_at(now, id) ? 0 : 1;
    return fresh;
  }
};

class Ours {
 public:
  std::size_t mark(Ids ids) {
    const auto first = claims_.seen(ids, kTtl);
    insist(first.has_value(), "seen");
    return static_cast<std::size_t>(std::ranges::count(*first, true));
  }

 private:
  std::unique_ptr<MemoryStore> store_ = open_memory();
  LocalClaims claims_{*store_, "events"};
};

struct Setting {
  std::size_t ids = 0;
  std::size_t batch = 1;
  std::size_t threads = 2;
};

// Sends ids in batches. `ids` makes the ids of a block; `fresh` says whether they are all new, or
// all known.
template <class Target>
double send(Target& target, const Setting& setting, bool fresh) {
  std::vector<std::vector<std::string>> blocks(setting.threads);
  const auto prepare = [&](std::size_t thread, std::size_t first, std::size_t count) {
    blocks[thread].clear();
    for (std::size_t i = first; i < first + count; ++i) {
      blocks[thread].push_back(event_id(fresh ? i : mixed(i) % setting.ids));
    }
  };
  const auto perform = [&](std::size_t thread) {
    Ids rest = blocks[thread];
    while (!rest.empty()) {
      const Ids batch = rest.first(std::min(setting.batch, rest.size()));
      insist(target.mark(batch) == (fresh ? batch.size() : 0), "every id is first once");
      rest = rest.subspan(batch.size());
    }
  };
  return seconds_of({.threads = setting.threads,
                     .operations = setting.ids,
                     .prepare = prepare,
                     .perform = perform});
}

template <class Target>
double send_new(const Setting& setting) {
  Target target;
  return send(target, setting, true);
}

template <class Yardstick>
void compare(const Setting& setting, std::size_t rounds, double target) {
  const std::string how = ", " + std::to_string(setting.threads) + " thread(s), batches of " +
                          std::to_string(setting.batch);
  run({.name = "new ids" + how,
       .operations = setting.ids,
       .target = target,
       .rounds = rounds,
       .ours = [&] { return send_new<Ours>(setting); },
       .yardstick = [&] { return send_new<Yardstick>(setting); }});
  const Setting alone{setting.ids, setting.batch, 1};
  Ours ours;
  send(ours, alone, true);
  Yardstick checker;
  send(checker, alone, true);
  run({.name = "known ids" + how,
       .operations = setting.ids,
       .target = target,
       .rounds = rounds,
       .ours = [&] { return send(ours, setting, false); },
       .yardstick = [&] { return send(checker, setting, false); }});
}

template <class Target>
double bytes_per_id(std::size_t ids) {
  const std::size_t before = allocated_bytes();
  Target target;
  for (std::size_t i = 0; i < ids; ++i) {
    const std::string id = event_id(i);
    target.mark({&id, 1});
  }
  return static_cast<double>(allocated_bytes() - before) / static_cast<double>(ids);
}

void weigh(std::size_t ids) {
  const double ours = bytes_per_id<Ours>(ids);
  const double yardstick = bytes_per_id<Checker>(ids);
  std::printf("%-44s %13.1f %13.1f %7.2f  target at most 0.70 %s\n",
              ("  bytes an id, all told, " + std::to_string(ids)).c_str(), ours, yardstick,
              ours / yardstick, ours / yardstick <= 0.7 ? "met" : "MISSED");
}

// Microseconds of single checks on one thread; half of the ids are new.
template <class Target>
std::vector<double> latencies(std::size_t ids) {
  Target target;
  std::vector<double> all;
  all.reserve(ids);
  for (std::size_t i = 0; i < ids; ++i) {
    const std::string id = event_id(mixed(i) % ids);
    const Steady::time_point start = Steady::now();
    target.mark({&id, 1});
    all.push_back(std::chrono::duration<double, std::micro>(Steady::now() - start).count());
  }
  std::ranges::sort(all);
  return all;
}

void time_checks(std::size_t ids) {
  const std::vector<double> ours = latencies<Ours>(ids);
  const std::vector<double> yardstick = latencies<Checker>(ids);
  for (const auto& [name, share] : {std::pair("p50", 0.5), {"p99", 0.99}, {"p99.99", 0.9999}}) {
    const auto at = static_cast<std::size_t>(share * static_cast<double>(ids - 1));
    std::printf("%-44s %10.2f us %10.2f us %7s  target below 1000 us %s\n",
                (std::string("  a single check, 1 thread, ") + name).c_str(), ours[at],
                yardstick[at], "", ours[at] < 1'000 ? "met" : "MISSED");
  }
}

void run_all(const Options& options) {
  // Fewer would fit into the caches, where the yardstick is three times as fast.
  const std::size_t fallback = options.quick ? 300'000 : 1'000'000;
  const std::size_t ids = options.keys != 0 ? options.keys : fallback;
  const std::size_t rounds = options.quick ? 3 : 5;
  print_heading("seen() on memory, " + std::to_string(ids) + " ids, kept for 24 h",
                "one mutexed unordered_map, an id at a time");
  compare<Checker>({ids, 1'000}, rounds, 3);
  compare<Checker>({ids, 100}, rounds, 0);
  compare<Checker>({ids, 1}, rounds, 0);
  compare<Checker>({ids, 1, 1}, rounds, 1.0);
  compare<Checker>({ids, 100, 1}, rounds, 0);
  weigh(ids);
  time_checks(ids);
  print_heading("The same", "the map locked once a batch, which the document's is not");
  compare<BatchChecker>({ids, 100}, rounds, 0);
}

}  // namespace
}  // namespace once::bench

int main(int count, char** words) {
  once::bench::run_all(once::bench::options_from(count, words));
  return once::bench::exit_code();
}
