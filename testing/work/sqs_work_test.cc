// `once work` on ElasticMQ and an embedded store behind a server.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>

#include "testing/servers/redis_server.h"
#include "testing/work/work_on_sqs.h"

namespace once::testing {
namespace {

TEST_F(WorkOnSqs, EffectsOfDuplicatesHappenOnce) {
  for (int copy = 0; copy < 3; ++copy) {
    for (int i = 0; i < 10; ++i) sender_->send(name_, event(std::to_string(i)));
  }
  WorkerProcess worker = work_by(
      R"(read body; echo '{"logs":[{"stream":"seen","events":[{"data":1}]}],
          "tallies":[{"key":"handled","kind":"sum","add":1}]}' >&3)");
  EXPECT_TRUE(worker.ready_line().starts_with("once: working on SQS queue " + name_));
  EXPECT_TRUE(eventually([&] { return tally(*once_, "handled") == 10; }));
  EXPECT_EQ(worker.terminate(), 0);
  EXPECT_EQ(tally(*once_, "handled"), 10);
  EXPECT_EQ(once_->log().read("seen", {}).value().events.size(), 10U);
}

TEST_F(WorkOnSqs, WhatFailsComesBackAndBecomesADeadLetter) {
  sender_->send(name_, event("good"));
  sender_->send(name_, event("bad"));
  WorkerProcess worker = work_by(R"(read body; echo $ONCE_ATTEMPT >> )" + file("attempts") + R"(
         case $ONCE_KEY in *bad) echo no luck >&2; exit 3;; esac
         echo '{"tallies":[{"key":"handled","kind":"count"}]}' >&3)",
                                 {"--max-attempts", "2"});
  std::vector<Message> dead;
  EXPECT_TRUE(eventually([&] {
    for (Message& message : sender_->receive(name_ + "-dead")) dead.push_back(message);
    return !dead.empty();
  }));
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].body, event("bad"));
  EXPECT_EQ(worker.terminate(), 0);
  EXPECT_EQ(tally(*once_, "handled"), 1);
  std::ifstream attempts(file("attempts"));
  std::map<int, int> count;
  for (int attempt = 0; attempts >> attempt;) ++count[attempt];
  EXPECT_EQ(count, (std::map<int, int>{{1, 2}, {2, 1}}));
}

TEST_F(WorkOnSqs, TermFinishesWhatIsUnderWay) {
  sender_->send(name_, event("slow"));
  WorkerProcess worker = work_by("touch " + file("up") + "; until test -e " + file("go") +
                                 "; do sleep 0.02; done; echo '{\"result\":\"done\"}' >&3");
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file("up")); }));
  worker.ask_to_stop();
  std::ofstream(file("go")) << "now";
  EXPECT_EQ(worker.wait(), 0);
  const auto claims = once_->claims().list({.kind = ClaimState::Kind::done}).value().claims;
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].state.result, "\"done\"");
}

// The processes whose numbers are in the file.
std::vector<pid_t> pids_in(const std::string& file) {
  std::vector<pid_t> pids;
  std::ifstream in(file);
  for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
  return pids;
}

bool is_gone(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  return !std::getline(status, line) || line.find(") Z ") != std::string::npos;
}

// It takes no notice of TERM, nor does its child.
TEST_F(WorkOnSqs, H38_ACommandEndsWithItsLeaseAlthoughItsWorkerIsStopped) {
  sender_->send(name_, event("one"));
  const std::string script = "trap '' TERM; echo $$ >> " + file("pids") + "; sh -c 'echo $$ >> " +
                             file("pids") + "; until test -e " + file("go") +
                             "; do sleep 0.02; done'; echo '{\"tallies\":[{\"key\":\"handled\","
                             "\"kind\":\"count\"}]}' >&3";
  const std::vector<std::string> options = {"--lease", "2s"};
  WorkerProcess first = work_by(script, options);
  EXPECT_TRUE(eventually([&] { return pids_in(file("pids")).size() == 2; }));
  first.suspend();
  EXPECT_TRUE(eventually([&] { return std::ranges::all_of(pids_in(file("pids")), is_gone); }));
  std::ofstream(file("go")) << "now";
  WorkerProcess second = work_by(script, options);
  EXPECT_TRUE(eventually([&] { return tally(*once_, "handled") == 1; }));
  first.resume();
  EXPECT_EQ(first.terminate(), 0);
  EXPECT_EQ(second.terminate(), 0);
  EXPECT_EQ(tally(*once_, "handled"), 1);
}

TEST_F(WorkOnSqs, H29_AKilledWorkersCommandDiesWithItAndAnotherWorkerTakesOver) {
  sender_->send(name_, event("one"));
  const std::string script = "echo $$ >> " + file("pids") +
                             "; test $ONCE_ATTEMPT -gt 1 || sh -c 'echo $$ >> " + file("pids") +
                             "; sleep 1000' ; echo '{\"tallies\":[{\"key\":\"handled\","
                             "\"kind\":\"count\"}]}' >&3";
  const std::vector<std::string> lease = {"--lease", "1s"};
  WorkerProcess first = work_by(script, lease);
  std::vector<pid_t> pids;
  EXPECT_TRUE(eventually([&] {
    pids = pids_in(file("pids"));
    return pids.size() == 2;
  }));
  first.kill();
  EXPECT_TRUE(eventually([&] { return std::ranges::all_of(pids, is_gone); }));
  WorkerProcess second = work_by(script, lease);
  EXPECT_TRUE(eventually([&] { return tally(*once_, "handled") == 1; }));
  EXPECT_EQ(second.terminate(), 0);
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(WorkOnSqs, H41_AWorkerHandlesNothingOnceItsStoreWasEmptied) {
  ONCE_NEEDS_SERVER(RedisServer);
  const RedisServer redis;
  const std::vector<std::string> command = {"--", "sh", "-c",
                                            "cat > /dev/null; echo x >> " + file("handled")};
  const auto handled = [&] { return text_of(file("handled")).size() / 2; };
  const auto says = [&](const std::string& text) {
    return eventually([&] { return text_of(file("errors")).find(text) != std::string::npos; });
  };
  std::FILE* const errors = std::fopen(file("errors").c_str(), "we");
  ASSERT_NE(errors, nullptr);
  sender_->send(name_, event("one"));
  {
    WorkerProcess worker(queue_at(shared_elasticmq().url()), redis.address(), command,
                         ::fileno(errors));
    Once look = open(redis.address()).value();
    EXPECT_TRUE(eventually([&] {
      return look.claims().list({.kind = ClaimState::Kind::done}).value().claims.size() == 1;
    }));
    redis.cli("flushall");
    EXPECT_TRUE(says("store_replaced")) << text_of(file("errors"));
    sender_->send(name_, event("two"));
    EXPECT_TRUE(says("messages are held: the store was emptied")) << text_of(file("errors"));
    EXPECT_EQ(worker.terminate(), 0);
  }
  (void)std::fclose(errors);
  EXPECT_EQ(handled(), 1U);
  EXPECT_EQ(redis.cli("dbsize"), "0");
  WorkerProcess again(queue_at(shared_elasticmq().url()), redis.address(), command);
  EXPECT_TRUE(eventually([&] { return handled() == 2; }));
  EXPECT_EQ(again.terminate(), 0);
}

TEST_F(WorkOnSqs, AQueueThatIsNotThereIsSaidAtTheStart) {
  name_ = "none";
  WorkerProcess worker = work({"--", "true"});
  EXPECT_EQ(worker.ready_line(), "");
  EXPECT_NE(worker.wait(), 0);
}

}  // namespace
}  // namespace once::testing
