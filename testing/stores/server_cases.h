// Cases that stores on servers share. Each store runs them on its own server, and says what they
// may cost there.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "once/local.h"

namespace once::testing {

enum class ClaimStep : std::uint8_t { taken, busy, completed, duplicate };

// Takes a claim, meets it, completes it and meets its result; calls `after` after each step.
inline void claim_and_complete(Store& store, const std::function<void(ClaimStep)>& after) {
  LocalClaims claims(store);
  const auto taken = claims.take("job", {.owner = "me"});
  ASSERT_TRUE(taken && std::holds_alternative<Claimed>(*taken));
  after(ClaimStep::taken);
  const auto busy = claims.take("job", {.owner = "you"});
  ASSERT_TRUE(busy && std::holds_alternative<Busy>(*busy));
  after(ClaimStep::busy);
  const auto done = claims.complete("job", std::get<Claimed>(*taken).ticket, "result");
  ASSERT_TRUE(done && std::holds_alternative<Settled>(*done));
  after(ClaimStep::completed);
  const auto duplicate = claims.take("job", {.owner = "you"});
  ASSERT_TRUE(duplicate && std::holds_alternative<Done>(*duplicate));
  EXPECT_EQ(std::get<Done>(*duplicate).result, "result");
  after(ClaimStep::duplicate);
}

// Creates a document by an update, and updates it again; calls `after` after each.
inline void update_twice(Store& store, const std::function<void()>& after) {
  LocalDocuments documents(store);
  const auto grow =
      [](const std::optional<documents::Content>& current) -> Result<documents::Modified> {
    return documents::Content{(current ? current->bytes : "") + "x"};
  };
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(documents.update("doc", {.modify = grow}).has_value());
    after();
  }
}

// Clients at work while the server dies and comes back: nothing acknowledged is lost, and nothing
// is applied twice.
class RestartUnderLoad {
 public:
  // A store of its own for each client.
  using Open = std::function<std::unique_ptr<Store>()>;
  // Appends under a batch id are commits of two writes; without one, of a single write.
  enum class Commits { of_two_writes, of_one_write };
  explicit RestartUnderLoad(Open open, Commits commits = Commits::of_two_writes)
      : open_(std::move(open)), commits_(commits) {}

  struct Load {
    int restarts;
    int rounds;  // Of every client, before and after each restart.
  };
  void run(const std::function<void()>& restart, const Load& load) {
    {
      std::vector<std::jthread> clients;
      for (std::size_t i = 0; i < kClients; ++i) {
        clients.emplace_back([this, i] { told_.at(i) = work(i); });
      }
      for (int i = 0; i < load.restarts; ++i) {
        await_rounds(load.rounds);
        restart();
      }
      await_rounds(load.rounds);
      stop_ = true;
    }
    judge();
  }

 private:
  static constexpr std::size_t kClients = 4;

  // What a client was told.
  struct Told {
    std::vector<std::pair<std::int64_t, std::string>> appended;  // Where, and what.
    std::int64_t sure = 0;                                       // Adds.
    std::int64_t unsure = 0;
    std::vector<std::string> done;  // Claims.
  };

  Told work(std::size_t client) {
    Told told;
    const std::unique_ptr<Store> store = open_();
    LocalLog log(*store);
    LocalTallies tallies(*store);
    LocalClaims claims(*store);
    for (int i = 0; !stop_; ++i) {
      const std::string name = std::to_string(client) + "-" + std::to_string(i);
      const std::string batch = commits_ == Commits::of_two_writes ? name : "";
      const auto appended = log.append("s", {{name, std::nullopt}}, {.batch = batch});
      const bool landed = appended && std::holds_alternative<Appended>(*appended);
      if (landed) told.appended.emplace_back(std::get<Appended>(*appended).first, name);
      const auto added = tallies.merge("sum", {.input = std::int64_t{1}});
      if (added) ++told.sure;
      if (!added && added.error().code == ErrorCode::unknown) ++told.unsure;
      const auto taken = claims.take(name, {});
      if (!taken || !std::holds_alternative<Claimed>(*taken)) continue;
      const auto settled = claims.complete(name, std::get<Claimed>(*taken).ticket, name);
      if (!settled || !std::holds_alternative<Settled>(*settled)) continue;
      told.done.push_back(name);
      if (landed && added) ++whole_.at(client);
    }
    return told;
  }

  // Until every client has had so many more rounds in which all was answered well.
  void await_rounds(int more) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    for (std::atomic<int>& rounds : whole_) {
      for (const int until = rounds + more; rounds < until;) {
        if (std::chrono::steady_clock::now() > patience) {
          ADD_FAILURE() << "a client gets nothing done";
          return;
        }
        std::this_thread::yield();
      }
    }
  }

  static std::vector<LogEntry> read_all(Log& log) {
    std::vector<LogEntry> events;
    for (std::int64_t from = 1;;) {
      const LogPage page = log.read("s", {.from = from, .limit = 10'000}).value();
      if (page.events.empty()) return events;
      events.insert(events.end(), page.events.begin(), page.events.end());
      from = page.next;
    }
  }

  void judge() {
    const std::unique_ptr<Store> store = open_();
    LocalLog log(*store);
    LocalTallies tallies(*store);
    LocalClaims claims(*store);
    const std::vector<LogEntry> events = read_all(log);
    for (std::size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i].index, static_cast<std::int64_t>(i) + 1);
    }
    std::int64_t sure = 0;
    std::int64_t unsure = 0;
    for (const Told& told : told_) {
      sure += told.sure;
      unsure += told.unsure;
      for (const auto& [index, data] : told.appended) {
        ASSERT_LE(index, static_cast<std::int64_t>(events.size()));
        EXPECT_EQ(events[static_cast<std::size_t>(index) - 1].data, data);
      }
      for (const std::string& name : told.done) {
        const auto state = claims.show(name).value();
        ASSERT_TRUE(state.has_value());
        EXPECT_EQ(state->kind, ClaimState::Kind::done);
      }
    }
    const auto tally = tallies.read("sum").value();
    ASSERT_TRUE(tally.has_value());
    const auto sum = std::get<std::int64_t>(tally->value);
    EXPECT_GE(sum, sure);
    EXPECT_LE(sum, sure + unsure);
  }

  const Open open_;
  const Commits commits_;
  std::array<Told, kClients> told_;
  std::array<std::atomic<int>, kClients> whole_ = {};  // Rounds, of each client.
  std::atomic<bool> stop_ = false;
};

}  // namespace once::testing
