// The example from outside: the one command, processes that are killed, and its document's engine.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "examples/change_archive/archive.h"
#include "examples/run_program.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/s3_buckets.h"
#include "testing/temp_dir.h"

namespace examples {
namespace {

using change_archive::Json;
using once::testing::ChildProcess;
using once::testing::ServerProcess;
using once::testing::TempDir;

// The current document, if it follows from its history and has each id once.
Json checked(const std::string& store, const std::string& name) {
  once::Once once = once::open(store).value();
  const Json change = Json::parse(once.documents().get(name).value().value().content.bytes);
  std::set<std::string> ids;
  for (const Json& entry : change["history"]) {
    EXPECT_TRUE(ids.insert(entry["id"].get<std::string>()).second) << entry;
  }
  EXPECT_EQ(change_archive::replayed(change["history"]).value(), change);
  return change;
}

std::string word(const std::string& kind, int number) { return kind + std::to_string(number); }

TEST(ChangeArchive, TheOneCommandTellsTheTruthAboutItsObject) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  const Finished story = run_on(store, {"--customers", "30", "--seed", "7"});
  ASSERT_EQ(story.status, 0) << story.output;
  const Json change = checked(store, story.output.substr(0, story.output.find(':')));
  EXPECT_EQ(change["history"].size(), 78U);
  EXPECT_EQ(change["processed"].size(), 30U);
  EXPECT_EQ(change["title"], "Move to the new data centre, draft 8");
  for (int i = 1; i <= 6; ++i) {
    EXPECT_EQ(change["meetings"][word("review-", i)], i % 2 == 0 ? "cancelled" : "scheduled");
  }
  EXPECT_TRUE(story.says("history of 78 entries: none lost, none twice"));
}

TEST(ChangeArchive, BadOptionsAreSaidAndNothingIsDone) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  EXPECT_EQ(run_on(store, {"--help"}).status, 0);
  EXPECT_EQ(run_on(store, {"create", "c"}).status, 2);
  EXPECT_EQ(run_on(store, {"create", "c", "\xff"}).status, 2);
  EXPECT_EQ(run_on(store, {"create", "c", "t", "--etag", "0123456789abcdef"}).status, 2);
  EXPECT_EQ(run_on(store, {"processed", "c", "acme"}).status, 2);
  EXPECT_EQ(run_on(store, {"--customers", "0"}).status, 2);
  EXPECT_EQ(run_on(store, {"remove", "c"}).status, 2);
  EXPECT_FALSE(std::filesystem::exists(store));
}

TEST(ChangeArchive, AStalePageAnOldIdAndAnImpossibleEntryChangeNothing) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  EXPECT_EQ(run_on(store, {"edit", "c", "none"}).status, 1);
  EXPECT_EQ(run_on(store, {"create", "c", "one"}).status, 0);
  const Finished shown = run_on(store, {"show", "c"});
  const std::string etag = shown.output.substr(0, shown.output.find('\n'));
  EXPECT_EQ(run_on(store, {"edit", "c", "two", "--id", "e", "--etag", etag}).status, 0);
  const Json change = checked(store, "c");

  EXPECT_EQ(run_on(store, {"edit", "c", "three", "--etag", etag}).status, 3);
  const Finished again = run_on(store, {"edit", "c", "two", "--id", "e", "--etag", etag});
  EXPECT_EQ(again.output, "e was recorded before\n");
  EXPECT_EQ(run_on(store, {"edit", "c", "three", "--id", "e"}).status, 1);
  EXPECT_EQ(run_on(store, {"cancel", "c", "review"}).status, 1);
  EXPECT_EQ(run_on(store, {"create", "c", "another"}).status, 1);
  EXPECT_EQ(checked(store, "c"), change);
}

// Customers' back ends, a process each, and a front end meanwhile. Some are killed after a random
// number of entries and started again with the same work; `interrupt` happens half way.
class Crowd {
 public:
  Crowd(std::string store, int customers, int tasks, unsigned seed)
      : store_(std::move(store)), customers_(customers), tasks_(tasks), random_(seed) {}

  // Answers how many a kill still found at work.
  int work(int kills, const std::function<void()>& interrupt = [] {}) {
    EXPECT_EQ(run_on(store_, {"create", "change", "draft 0"}).status, 0);
    for (int i = 0; i < customers_; ++i) fleet_.push_back(start(i));
    std::jthread front([&] {
      for (int round = 0; round < kRounds; ++round) work_at_the_front(round);
    });
    int killed = 0;
    for (int kill = 0; kill < kills; ++kill) {
      const auto victim = static_cast<int>(random_() % fleet_.size());
      auto& child = fleet_[static_cast<std::size_t>(victim)];
      child->kill();  // Wherever it is; and the next one when it has told of so many entries.
      child = start(victim);
      for (auto entries = random_() % 3; entries > 0; --entries) child->read_line();
      child->kill();
      killed += child->wait() == -SIGKILL ? 1 : 0;
      child = start(victim);
      if (kill == kills / 2) interrupt();
    }
    for (auto& child : fleet_) {
      rest_of(*child);
      EXPECT_EQ(child->wait(), 0);
    }
    front.join();
    check();
    return killed;
  }

 private:
  static constexpr int kRounds = 6;  // Of the front end: a meeting and an edit, and so on.

  std::unique_ptr<ChildProcess> start(int customer) const {
    Words arguments = {"processed", "change", word("customer-", customer)};
    for (int task = 0; task < tasks_; ++task) arguments.push_back(word("task-", task));
    arguments.insert(arguments.end(), {"--store", store_});
    return std::make_unique<ChildProcess>(ONCE_EXAMPLE, arguments);
  }

  void work_at_the_front(int number) {
    const std::string meeting = word("review-", number);
    EXPECT_EQ(run_on(store_, {"schedule", "change", meeting}).status, 0);
    EXPECT_EQ(run_on(store_, {"edit", "change", word("draft ", number)}).status, 0);
    if (number % 2 != 0) return;
    EXPECT_EQ(run_on(store_, {"cancel", "change", meeting}).status, 0);
  }

  void check() const {
    const Json change = checked(store_, "change");
    Json tasks = Json::array();
    for (int task = 0; task < tasks_; ++task) tasks.push_back(word("task-", task));
    EXPECT_EQ(change["processed"].size(), static_cast<std::size_t>(customers_));
    for (const Json& done : change["processed"]) EXPECT_EQ(done, tasks);
    EXPECT_EQ(change["meetings"].size(), static_cast<std::size_t>(kRounds));
    EXPECT_EQ(change["title"], word("draft ", kRounds - 1));
    EXPECT_EQ(change["history"].size(),
              static_cast<std::size_t>(1 + customers_ * tasks_ + 2 * kRounds + (kRounds + 1) / 2));
  }

  const std::string store_;
  const int customers_;
  const int tasks_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<ChildProcess>> fleet_;
};

TEST(ChangeArchive, ThirtyCustomersAndAFrontEndLoseNothingWhoeverIsKilled) {
  const TempDir dir;
  ServerProcess server((dir.path() / "store").string());
  ASSERT_TRUE(server.running());
  const int killed = Crowd(server.url(), 30, 4, 3).work(10, [&] {
    server.kill();
    server.start(server.port());
  });
  EXPECT_GT(killed, 2);
}

TEST(ChangeArchive, OnS3TheSame) {
  ONCE_NEEDS_SERVER(once::testing::CephS3);
  const once::testing::S3Place place;
  EXPECT_GT(Crowd(place.address(), 6, 2, 5).work(3), 0);
}

}  // namespace
}  // namespace examples
