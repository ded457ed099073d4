// The example from outside: the one command, processes that are killed, and its document's engine.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>

#include "examples/run_program.h"
#include "once/open.h"
#include "testing/server_process.h"
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/needs.h"
#include "testing/temp_dir.h"

namespace examples {
namespace {

using once::testing::ChildProcess;
using once::testing::ServerProcess;
using once::testing::TempDir;

std::string read_all(const std::string& store, const Words& more = {}) {
  Words arguments = {"read", "job", "--store", store};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished reader = run_to_end(arguments);
  EXPECT_EQ(reader.status, 0);
  return reader.output;
}

TEST(LogForwarder, TheOneCommandTellsTheTruthAboutItsLog) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  const Finished story = run_to_end({"--store", store, "--seed", "7"});
  ASSERT_EQ(story.status, 0) << story.output;
  const std::string execution = story.output.substr(0, story.output.find(':'));
  once::Once once = once::open(store).value();
  const once::LogPage page = once.log().read(execution, {.limit = 10'000}).value();
  std::set<std::string> lines;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < page.events.size(); ++i) {
    EXPECT_EQ(page.events[i].index, static_cast<std::int64_t>(i + 1));
    lines.insert(page.events[i].data);
    bytes += std::to_string(i + 1).size() + page.events[i].data.size() + 2;
  }
  EXPECT_EQ(lines.size(), page.events.size());
  EXPECT_TRUE(story.says("indexes 1 to " + std::to_string(lines.size()) + ": none missing"))
      << story.output;
  EXPECT_TRUE(story.says("the same " + std::to_string(bytes) + " bytes")) << story.output;
}

TEST(LogForwarder, BadOptionsAreSaidAndNothingIsDone) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  EXPECT_EQ(run_to_end({"--help"}).status, 0);
  EXPECT_EQ(run_to_end({"forward", "job", "/no/such/file", "--store", store}).status, 2);
  EXPECT_EQ(run_to_end({"read", "job", "--from", "0", "--store", store}).status, 2);
  EXPECT_EQ(run_to_end({"--unheard-of", "--store", store}).status, 2);
  EXPECT_EQ(run_to_end({"mail", "--store", store}).status, 2);
  EXPECT_EQ(run_to_end({"read", "job", "--store", "ftp://nowhere"}).status, 1);
  EXPECT_FALSE(std::filesystem::exists(store));
}

// Sources of a job, each a file of lines that occur nowhere else.
class Sources {
 public:
  Sources(const std::filesystem::path& directory, int sources, int lines) {
    for (int source = 0; source < sources; ++source) {
      files_.push_back((directory / ("source-" + std::to_string(source))).string());
      std::ofstream out(files_.back());
      for (int line = 0; line < lines; ++line) {
        const std::string text = std::to_string(source) + "/" + std::to_string(line);
        out << text << '\n';
        lines_.push_back(text);
      }
    }
  }

  const std::vector<std::string>& files() const { return files_; }
  const std::vector<std::string>& lines() const { return lines_; }

  // Each line once, with consecutive indexes, and those of a source in its order.
  void check(const std::string& transcript) const {
    std::map<char, std::vector<std::string>> by_source;
    std::istringstream in(transcript);
    std::int64_t index = 0;
    std::int64_t expected = 0;
    for (std::string text; in >> index >> text;) {
      by_source[text[0]].push_back(text);
      ASSERT_EQ(index, ++expected);
    }
    std::vector<std::string> texts;
    for (const auto& [source, its] : by_source) texts.insert(texts.end(), its.begin(), its.end());
    EXPECT_EQ(texts, lines_);
  }

 private:
  std::vector<std::string> files_;
  std::vector<std::string> lines_;
};

// Two forwarders at once for each source, killed after a random number of deliveries and started
// again from the beginning; `interrupt` happens half way. Answers how many of them a kill still
// found at work.
int forward_with_kills(
    const Sources& sources, const std::string& store, int kills, unsigned seed,
    const std::function<void()>& interrupt = [] {}) {
  std::mt19937 random(seed);
  const auto start = [&](const std::string& file) {
    return std::make_unique<ChildProcess>(
        ONCE_EXAMPLE, Words{"forward", "job", file, "--source",
                            std::filesystem::path(file).filename(), "--store", store});
  };
  std::vector<std::pair<std::string, std::unique_ptr<ChildProcess>>> fleet;
  for (int copy = 0; copy < 2; ++copy) {
    for (const std::string& file : sources.files()) fleet.emplace_back(file, start(file));
  }
  const auto most = sources.lines().size() / sources.files().size() / 25 / 2 + 1;
  int killed = 0;
  for (int kill = 0; kill < kills; ++kill) {
    auto& [file, child] = fleet[random() % fleet.size()];
    child->kill();  // Wherever it is; and the next one when it has told of so many deliveries.
    child = start(file);
    for (auto deliveries = random() % most; deliveries > 0; --deliveries) child->read_line();
    child->kill();
    killed += child->wait() == -SIGKILL ? 1 : 0;
    child = start(file);
    if (kill == kills / 2) interrupt();
  }
  for (auto& [file, child] : fleet) {
    rest_of(*child);
    EXPECT_EQ(child->wait(), 0) << file;
  }
  return killed;
}

TEST(LogForwarder, KilledForwardersAndAKilledServerLeaveOneLogThatAllReadersSeeAlike) {
  const TempDir dir;
  const Sources sources(dir.path(), 4, 500);
  ServerProcess server((dir.path() / "store").string());
  ASSERT_TRUE(server.running());
  const std::string last = std::to_string(sources.lines().size());
  ChildProcess follower(ONCE_EXAMPLE,
                        {"read", "job", "--follow", "--until", last, "--store", server.url()});
  const int killed = forward_with_kills(sources, server.url(), 12, 3, [&] {
    server.kill();
    server.start(server.port());
  });
  EXPECT_GT(killed, 2);
  const std::string late = read_all(server.url());
  sources.check(late);
  EXPECT_EQ(rest_of(follower), late);
  EXPECT_EQ(follower.wait(), 0);
  EXPECT_EQ(read_all(server.url(), {"--until", "300"}) + read_all(server.url(), {"--from", "301"}),
            late);

  once::Once once = once::open(server.url()).value();
  std::string patched;
  for (std::size_t i = 1; i <= sources.lines().size(); ++i) {
    const auto from = static_cast<std::int64_t>(i);
    const auto page = once.log().read("job", {.from = from, .limit = 1}).value();
    ASSERT_EQ(page.events.size(), 1U);
    patched.append(std::to_string(page.events[0].index)).append(" ");
    patched.append(page.events[0].data).append("\n");
  }
  EXPECT_EQ(patched, late);
}

TEST(LogForwarder, ASourceWhoseLinesChangedIsRefusedAndStoresNothing) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  const std::string file = (dir.path() / "lines").string();
  const Words forward = {"forward", "job", file, "--store", store};
  std::ofstream(file) << "one\ntwo";
  EXPECT_EQ(run_to_end(forward).status, 0);
  EXPECT_TRUE(run_to_end(forward).says("stands at 1 to 2, as before"));
  std::ofstream(file) << "one\nthree\n";
  EXPECT_EQ(run_to_end(forward).status, 1);
  EXPECT_EQ(read_all(store), "1 one\n2 two\n");
}

TEST(LogForwarder, OnDynamoDbTheSame) {
  ONCE_NEEDS_SERVER(once::testing::DynamoDbLocal);
  const TempDir dir;
  const Sources sources(dir.path(), 2, 60);
  const once::testing::DynamoDbTable table;
  EXPECT_GT(forward_with_kills(sources, table.address(), 3, 5), 0);
  sources.check(read_all(table.address()));
  const Finished story = run_to_end({"--store", table.address(), "--deliveries", "20"});
  EXPECT_EQ(story.status, 0) << story.output;
}

}  // namespace
}  // namespace examples
