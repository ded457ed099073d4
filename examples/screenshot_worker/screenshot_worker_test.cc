// The example from outside: the one command, processes that are killed, and its document's engines.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>

#include "examples/run_program.h"
#include "examples/screenshot_worker/job.h"
#include "once/open.h"
#include "testing/server_process.h"
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/needs.h"
#include "testing/servers/sqs_queues.h"
#include "testing/temp_dir.h"
#include "testing/work/worker_process.h"

namespace examples {
namespace {

using once::testing::ChildProcess;
using once::testing::ElasticMq;
using once::testing::eventually;
using once::testing::ServerProcess;
using once::testing::TempDir;

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

// By zlib, which had no part in making it: the signature, each chunk's check, and as many bytes of
// picture as there must be.
void expect_png(const std::string& png, std::uint32_t width, std::uint32_t height) {
  ASSERT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::map<std::string, std::string> chunks;
  std::size_t at = 8;
  while (at + 12 <= png.size()) {
    const std::uint32_t size = number_at(png, at);
    ASSERT_LE(at + 12 + size, png.size());
    const std::string checked = png.substr(at + 4, 4 + size);
    EXPECT_EQ(number_at(png, at + 8 + size),
              ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()),
                      static_cast<uInt>(checked.size())));
    chunks[checked.substr(0, 4)] = checked.substr(4);
    at += 12 + size;
  }
  EXPECT_EQ(at, png.size());
  ASSERT_EQ(chunks["IHDR"].size(), 13U);
  EXPECT_EQ(number_at(chunks["IHDR"], 0), width);
  EXPECT_EQ(number_at(chunks["IHDR"], 4), height);
  EXPECT_TRUE(chunks.contains("IEND"));
  std::vector<Bytef> rows(std::size_t{height} * (1 + 3 * std::size_t{width}));
  uLongf size = rows.size();
  ASSERT_EQ(::uncompress(rows.data(), &size, reinterpret_cast<const Bytef*>(chunks["IDAT"].data()),
                         chunks["IDAT"].size()),
            Z_OK);
  EXPECT_EQ(size, rows.size());
}

// Job and address, as the log has them.
std::multimap<std::string, std::string> logged(once::Once& once, const std::string& stream) {
  std::multimap<std::string, std::string> all;
  const auto page = once.log().read(stream, {.limit = 10'000});
  if (!page) return all;
  for (const once::LogEntry& entry : page->events) {
    const std::size_t space = entry.data.find(' ');
    all.emplace(entry.data.substr(0, space), entry.data.substr(space + 1));
  }
  return all;
}

// Job and result, of all claims that there are.
std::multimap<std::string, std::string> claimed(once::Once& once) {
  std::multimap<std::string, std::string> all;
  std::string cursor;
  do {
    const auto page = once.claims().list({}, cursor).value();
    for (const auto& claim : page.claims) {
      EXPECT_EQ(claim.state.kind, once::ClaimState::Kind::done) << claim.name;
      all.emplace(claim.name.substr(claim.name.rfind("shot-")), claim.state.result);
    }
    cursor = page.cursor;
  } while (!cursor.empty());
  return all;
}

// Each job is done, with one address that is its claim's result, and a picture is there.
void expect_done(once::Once& once, const std::string& stream, int jobs) {
  const auto done = logged(once, stream);
  EXPECT_EQ(done.size(), static_cast<std::size_t>(jobs));
  EXPECT_EQ(claimed(once), done);
  for (int i = 1; i <= jobs; ++i) {
    const std::string job = "shot-" + std::to_string(i);
    ASSERT_EQ(done.count(job), 1U) << job;
    const std::string& address = done.find(job)->second;
    ASSERT_TRUE(address.starts_with("file:///")) << address;
    std::ifstream in(address.substr(7), std::ios::binary);
    expect_png({std::istreambuf_iterator<char>(in), {}}, 320, 200);
  }
}

TEST(ScreenshotWorker, TheOneCommandTellsTheTruthAboutItsPictures) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  const Finished story = run_to_end({"--store", store, "--shots", (dir.path() / "shots").string(),
                                     "--jobs", "15", "--seed", "7"});
  ASSERT_EQ(story.status, 0) << story.output;
  EXPECT_TRUE(story.says("15 of 15 jobs have one address")) << story.output;
  once::Once once = once::open(store).value();
  expect_done(once, story.output.substr(0, story.output.find(':')), 15);
}

TEST(ScreenshotWorker, BadOptionsAreSaidAndNothingIsDone) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  EXPECT_EQ(run_to_end({"--help"}).status, 0);
  EXPECT_EQ(run_to_end({"work", "--store", store}).status, 2);
  EXPECT_EQ(run_to_end({"work", "--queue", "sqs://q", "--lease", "0s", "--store", store}).status,
            2);
  EXPECT_EQ(run_to_end({"message", "../job", "https://example.org/"}).status, 2);
  EXPECT_EQ(run_to_end({"draw", "--store", store}).status, 2);
  EXPECT_FALSE(std::filesystem::exists(store));
}

// Workers on a queue of ElasticMQ; some are killed, and others take over.
class Fleet {
 public:
  Fleet(std::string store, const std::string& queue, int workers, int jobs, unsigned seed)
      : store_(std::move(store)),
        queue_name_(queue),
        queue_("sqs://" + queue +
               "?region=eu-west-1&wait=1&endpoint=" + once::testing::shared_elasticmq().url()),
        jobs_(jobs),
        random_(seed),
        once_(once::open(store_).value()),
        fleet_(static_cast<std::size_t>(workers)) {}

  void run(int kills) {
    once::testing::SqsSender sender(once::testing::shared_elasticmq().url());
    sender.make(queue_name_);
    sender.send_all(queue_name_, messages());
    const std::string begun = kill_one_at_work();
    for (std::size_t i = 0; i < fleet_.size(); ++i) fleet_[i] = start({"--render", "20ms"});
    for (int kill = 0; kill < kills; ++kill) {
      const std::size_t victim = random_() % fleet_.size();
      fleet_[victim]->read_line();  // It has told of one job, and is at the next.
      fleet_[victim]->kill();
      fleet_[victim] = start({"--render", "20ms"});
    }
    EXPECT_TRUE(eventually([&] { return sender.size(queue_name_) == 0; })) << "stuck or lost";
    for (auto& worker : fleet_) ::kill(worker->pid(), SIGTERM);
    for (auto& worker : fleet_) EXPECT_EQ(worker->wait(), 0);
    EXPECT_TRUE(sender.receive(queue_name_ + "-dead").empty());
    expect_done(once_, "screenshots", jobs_);
    EXPECT_GE(once_.claims().show(begun).value().value().attempt, 2);
    expect_list();
  }

 private:
  Words messages() {
    Words all;
    for (int i = 1; i <= jobs_; ++i) {
      const screenshot_worker::Job job{.id = "shot-" + std::to_string(i),
                                       .page = "https://example.org/" + std::to_string(i)};
      all.insert(all.end(), i % 3 == 0 ? 2 : 1, message_of(job).value());
    }
    std::ranges::shuffle(all, random_);
    return all;
  }

  std::unique_ptr<ChildProcess> start(const Words& more) const {
    Words arguments = {
        "work",    "--queue", queue_, "--store", store_, "--shots", shots_.path().string(),
        "--lease", "1s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto worker = std::make_unique<ChildProcess>(ONCE_EXAMPLE, arguments);
    EXPECT_TRUE(worker->read_line().value_or("").starts_with("working on "));
    return worker;
  }

  // A worker that would render for minutes. The claim of its job, at which it is dead by now.
  std::string kill_one_at_work() {
    const auto worker = start({"--render", "10m", "--owner", "the dead one"});
    std::string name;
    EXPECT_TRUE(eventually([&] {
      const auto page = once_.claims().list({.kind = once::ClaimState::Kind::busy}).value();
      if (!page.claims.empty()) name = page.claims.front().name;
      return !name.empty();
    }));
    worker->kill();
    return name;
  }

  void expect_list() const {
    const Finished listed = run_to_end({"list", "--store", store_});
    EXPECT_EQ(listed.status, 0);
    EXPECT_EQ(std::ranges::count(listed.output, '\n'), jobs_);
  }

  const std::string store_;
  const std::string queue_name_;
  const std::string queue_;
  const int jobs_;
  const TempDir shots_;
  std::mt19937 random_;
  once::Once once_;
  std::vector<std::unique_ptr<ChildProcess>> fleet_;
};

TEST(ScreenshotWorker, FiveWorkersOfWhichSomeAreKilledLeaveOnePictureForEachJob) {
  ONCE_NEEDS_SERVER(ElasticMq);
  const TempDir dir;
  const ServerProcess server((dir.path() / "store").string());
  ASSERT_TRUE(server.running());
  Fleet(server.url(), "jobs", 5, 40, 3).run(3);
}

TEST(ScreenshotWorker, OnSqsAndDynamoDbTheSame) {
  ONCE_NEEDS_SERVER(ElasticMq);
  ONCE_NEEDS_SERVER(once::testing::DynamoDbLocal);
  const once::testing::DynamoDbTable table;
  Fleet(table.address(), "more-jobs", 2, 6, 5).run(0);
}

}  // namespace
}  // namespace examples
