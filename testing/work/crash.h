// The proof: workers are killed at random and the broker is restarted while messages with
// duplicates are handled; the effect of each message happens exactly once, none is lost and none is
// stuck.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "testing/work/worker_process.h"

namespace once::testing {

struct CrashWorld {
  std::string queue;  // Addresses.
  std::string store;
  std::function<void(const std::vector<std::string>& bodies)> send;
  std::function<void()> restart_broker;  // As real ones do; what it forgot is sent again.
  std::function<bool()> is_empty;        // Nothing is left in the queue.
  std::function<std::size_t()> dead_letters = [] { return 0; };
};

class CrashTest {
 public:
  CrashTest(CrashWorld world, int workers, int messages, unsigned seed)
      : world_(std::move(world)),
        messages_(messages),
        random_(seed),
        once_(open(world_.store).value()),
        fleet_(static_cast<std::size_t>(workers)) {}

  void run() {
    world_.send(bodies());
    for (std::size_t i = 0; i < fleet_.size(); ++i) start(i);
    disturb();
    ASSERT_TRUE(eventually([&] { return handled() == messages_; }, std::chrono::seconds(120)))
        << "lost or stuck: " << messages_ - handled();
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

  // Its key ends in the source and the id of the event. The file is only for those who want to know
  // how far they are: it may have more lines than there are messages.
  void start(std::size_t i) {
    const std::string script = "echo >> " + progress_ +
                               R"(; id=${ONCE_KEY##*/test}; )"
                               R"(echo '{"tallies":[{"key":"m-'$id'","kind":"sum","add":1}]}' >&3)";
    fleet_[i] = std::make_unique<WorkerProcess>(
        world_.queue, world_.store,
        std::vector<std::string>{"--concurrency", "4", "--lease", "2s", "--retry-delay", "250ms",
                                 "--max-attempts", "1000", "--owner", "w" + std::to_string(i), "--",
                                 "sh", "-c", script});
    ASSERT_NE(fleet_[i]->ready_line(), "");
  }

  // One of them dies whenever some more messages have been handled; half way the broker does.
  void disturb() {
    const int kills = fleet_.size() < 5 ? 2 : 8;
    for (int kill = 1; kill <= kills; ++kill) {
      const int when = messages_ * kill / (kills + 2);
      ASSERT_TRUE(eventually([&] { return begun() >= when; }, std::chrono::seconds(120)));
      if (kill == kills / 2 && world_.restart_broker) world_.restart_broker();
      const std::size_t victim = random_() % fleet_.size();
      fleet_[victim]->kill();
      start(victim);
    }
  }

  // Duplicates that workers hold back are in the queue again when they end.
  void drain() {
    constexpr int kMostRounds = 10;
    for (int round = 0; round < kMostRounds; ++round) {
      ASSERT_TRUE(eventually(world_.is_empty)) << "stuck in the queue";
      for (auto& worker : fleet_) worker->ask_to_stop();
      for (auto& worker : fleet_) EXPECT_EQ(worker->wait(), 0);
      if (world_.is_empty()) return;
      for (std::size_t i = 0; i < fleet_.size(); ++i) start(i);
    }
    FAIL() << "messages come back without end";
  }

  int begun() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(progress_, none);
    return none ? 0 : static_cast<int>(size);
  }

  std::map<std::string, int> by_workers() {
    std::map<std::string, int> count;
    std::string cursor;
    do {
      const auto page = once_.claims().list(ClaimState::Kind::done, cursor).value();
      for (const auto& claim : page.claims) ++count[claim.state.owner];
      cursor = page.cursor;
    } while (!cursor.empty());
    return count;
  }

  // How often the effect of each message happened.
  std::map<std::int64_t, int> times() {
    std::map<std::int64_t, int> times;
    constexpr int kAtOnce = 100;
    for (int from = 0; from < messages_; from += kAtOnce) {
      std::vector<std::string> names;
      for (int i = from; i < std::min(from + kAtOnce, messages_); ++i) {
        names.push_back("m-" + std::to_string(i));
      }
      const auto readings = once_.tallies().read_all(names);
      if (!readings) return {};
      for (const auto& reading : *readings) {
        ++times[reading ? std::get<std::int64_t>(reading->value) : 0];
      }
    }
    return times;
  }
  std::int64_t handled() {
    const auto all = times();
    const auto none = all.find(0);
    return all.empty() ? 0 : messages_ - (none == all.end() ? 0 : none->second);
  }

  void check_effects() {
    EXPECT_EQ(times(), (std::map<std::int64_t, int>{{1, messages_}}));
    EXPECT_EQ(world_.dead_letters(), 0U);
    std::map<std::string, int> shares = by_workers();
    EXPECT_EQ(shares.size(), fleet_.size());
    if (fleet_.size() < 5) return;
    for (const auto& [worker, share] : shares) EXPECT_GE(share, messages_ / 10) << worker;
  }

  const CrashWorld world_;
  const int messages_;
  const TempDir directory_;
  const std::string progress_ = (directory_.path() / "begun").string();
  std::mt19937 random_;
  Once once_;
  std::vector<std::unique_ptr<WorkerProcess>> fleet_;
};

}  // namespace once::testing
