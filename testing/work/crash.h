// The proof: workers are killed at random and the broker is restarted while messages with
// duplicates are handled; the effect of each message happens exactly once, none is lost and none is
// stuck.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "testing/servers/needs.h"
#include "testing/work/endpoint.h"
#include "testing/work/stores.h"
#include "testing/work/worker_process.h"

namespace once::testing {

struct CrashWorld {
  std::string queue;  // Its address.
  std::function<void(const std::vector<std::string>& bodies)> send;
  std::function<void()> restart_broker;  // As real ones do; what it forgot is sent again.
  std::function<bool()> is_empty;        // Nothing is left in the queue.
  std::function<std::size_t()> dead_letters;
};

// A store and the number of workers.
using CrashCase = std::tuple<std::string, int>;

inline std::string name_of_case(const ::testing::TestParamInfo<CrashCase>& info) {
  return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
}

class CrashTest {
 public:
  CrashTest(CrashWorld world, const CrashCase& with)
      : world_(std::move(world)),
        messages_(is_long() ? 10'000 : 1'000),
        patience_(std::chrono::seconds(120) * (messages_ / 1'000)),
        store_(std::get<0>(with)),
        gives_(harness_of(std::get<0>(with)).commits == StoreHarness::Commits::any
                   ? Endpoint::Gives::tallies
                   : Endpoint::Gives::results),
        once_(open(store_.address()).value()),
        endpoint_(gives_),
        fleet_(static_cast<std::size_t>(std::get<1>(with))) {
    for (int i = 0; i < messages_; ++i) waiting_.push_back("m-" + std::to_string(i));
  }

  void run() {
    world_.send(bodies());
    endpoint_.hold();  // Or the first worker would be done before the last has begun.
    for (std::size_t i = 0; i < fleet_.size(); ++i) start(i);
    endpoint_.release();
    disturb();
    ASSERT_TRUE(eventually([&] { return all_handled(); }, patience_))
        << "lost or stuck: " << waiting_.size();
    drain();
    check_effects();
  }

 private:
  // Three in ten are there twice, in any order.
  std::vector<std::string> bodies() {
    std::vector<std::string> all;
    for (int i = 0; i < messages_; ++i) {
      all.push_back(event(std::to_string(i)));
      if (i % 10 < 3) all.push_back(all.back());
    }
    std::ranges::shuffle(all, random_);
    return all;
  }

  void start(std::size_t i) {
    fleet_[i] = std::make_unique<WorkerProcess>(
        world_.queue, store_.address(),
        std::vector<std::string>{"--concurrency", "4", "--lease", "1s", "--retry-delay", "250ms",
                                 "--max-attempts", "1000", "--ttl", "30d", "--owner",
                                 "w" + std::to_string(i), "--http", endpoint_.url() + "/handle"});
    ASSERT_NE(fleet_[i]->ready_line(), "");
  }

  // One of them dies whenever some more messages have been handled, in the middle of whatever it is
  // at; half way the broker does.
  void disturb() {
    const int kills = messages_ / (fleet_.size() < 5 ? 250 : 125);
    for (int kill = 1; kill <= kills; ++kill) {
      ASSERT_TRUE(endpoint_.await(messages_ * kill / (kills + 2), patience_));
      if (kill == kills / 2) world_.restart_broker();
      const std::size_t victim = random_() % fleet_.size();
      fleet_[victim]->kill();
      endpoint_.hold();  // That it may have its share.
      start(victim);
      endpoint_.release();
    }
  }

  // Duplicates that workers hold back are in the queue again when they end.
  void drain() {
    constexpr int kMostRounds = 10;
    for (int round = 0; round < kMostRounds; ++round) {
      ASSERT_TRUE(eventually(world_.is_empty, patience_)) << "stuck in the queue";
      for (auto& worker : fleet_) worker->ask_to_stop();
      for (auto& worker : fleet_) EXPECT_EQ(worker->wait(), 0);
      if (world_.is_empty()) return;
      for (std::size_t i = 0; i < fleet_.size(); ++i) start(i);
    }
    FAIL() << "messages come back without end";
  }

  // How often the effect of each of these happened.
  std::map<std::string, std::int64_t> times(const std::vector<std::string>& names) {
    return gives_ == Endpoint::Gives::tallies ? tallied(names) : results();
  }

  // A claim keeps one result.
  std::map<std::string, std::int64_t> results() {
    std::map<std::string, std::int64_t> times;
    for (const auto& claim : done()) {
      const std::string& result = claim.state.result;  // A number in quotes.
      ++times["m-" + result.substr(1, result.size() - 2)];
    }
    return times;
  }

  std::map<std::string, std::int64_t> tallied(const std::vector<std::string>& names) {
    std::map<std::string, std::int64_t> times;
    constexpr std::size_t kAtOnce = 100;
    for (std::size_t from = 0; from < names.size(); from += kAtOnce) {
      const std::vector<std::string> some(
          names.begin() + static_cast<std::ptrdiff_t>(from),
          names.begin() + static_cast<std::ptrdiff_t>(std::min(from + kAtOnce, names.size())));
      const auto readings = once_.tallies().read_all(some);
      if (!readings) continue;  // Then it is asked again.
      for (std::size_t i = 0; i < some.size(); ++i) {
        const auto& reading = (*readings)[i];
        times[some[i]] = reading ? std::get<std::int64_t>(reading->value) : 0;
      }
    }
    return times;
  }

  bool all_handled() {
    const auto known = times(waiting_);
    std::erase_if(waiting_, [&](const std::string& name) {
      const auto found = known.find(name);
      return found != known.end() && found->second > 0;
    });
    return waiting_.empty();
  }

  std::vector<claims::ListedClaim> done() {
    std::vector<claims::ListedClaim> all;
    std::string cursor;
    do {
      const auto page = once_.claims().list({.kind = ClaimState::Kind::done}, cursor).value();
      all.insert(all.end(), page.claims.begin(), page.claims.end());
      cursor = page.cursor;
    } while (!cursor.empty());
    return all;
  }

  void check_effects() {
    std::vector<std::string> all;
    for (int i = 0; i < messages_; ++i) all.push_back("m-" + std::to_string(i));
    std::map<std::int64_t, int> how_often;
    for (const auto& [name, count] : times(all)) ++how_often[count];
    EXPECT_EQ(how_often, (std::map<std::int64_t, int>{{1, messages_}}));
    EXPECT_EQ(world_.dead_letters(), 0U);
    std::map<std::string, int> shares;
    for (const auto& claim : done()) ++shares[claim.state.owner];
    EXPECT_EQ(shares.size(), fleet_.size());
    // Each of them worked. How much depends on who was back first after the broker's restart.
    for (const auto& [worker, share] : shares) EXPECT_GE(share, messages_ / 50) << worker;
  }

  const CrashWorld world_;
  const int messages_;
  const std::chrono::seconds patience_;
  const SharedStore store_;
  const Endpoint::Gives gives_;
  std::mt19937 random_{1};
  Once once_;
  std::vector<std::string> waiting_;  // Those that are not known to be handled.
  Endpoint endpoint_;
  std::vector<std::unique_ptr<WorkerProcess>> fleet_;
};

}  // namespace once::testing
