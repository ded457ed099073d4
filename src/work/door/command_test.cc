#include "work/door/command.h"

#include <gtest/gtest.h>

#include <signal.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "testing/temp_dir.h"

namespace once::work {
namespace {

class CommandHandler : public ::testing::Test {
 protected:
  Result<Effects> run(const std::string& script, const std::string& body = "") {
    Message message;
    message.id = "m1";
    message.body = body;
    Attempt attempt("key", 7, 2);
    Task task{message, attempt, stop_.get_token(), renewals_};
    return command_handler({"sh", "-c", script}, kLease, guardian_)(task);
  }
  std::string reason(const std::string& script) {
    const Result<Effects> ran = run(script);
    return ran ? "none" : ran.error().message;
  }

  static constexpr Duration kLease = std::chrono::seconds(30);

  void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }  // As `once work` does.

  const process::Guardian guardian_ = process::Guardian::start().value();
  std::stop_source stop_;
  Renewals renewals_;
  testing::TempDir dir_;
};

TEST_F(CommandHandler, TheBodyIsItsInputAndTheEnvironmentTellsTheAttempt) {
  const std::string body(1'000'000, 'x');
  const std::string file = (dir_.path() / "out").string();
  ASSERT_TRUE(run("wc -c > " + file + "; echo $ONCE_KEY $ONCE_FENCE $ONCE_ATTEMPT " +
                      "$ONCE_MESSAGE_ID >> " + file,
                  body)
                  .has_value());
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, "1000000\nkey 7 2 m1\n");
}

TEST_F(CommandHandler, ABodyThatIsNotReadIsNoFailure) {
  EXPECT_TRUE(run("true", std::string(1'000'000, 'x')).has_value());
}

TEST_F(CommandHandler, AFailureSaysTheCodeAndTheLastLineOfItsErrors) {
  EXPECT_EQ(reason("echo first >&2; echo no luck >&2; exit 3"), "exit code 3: no luck");
  EXPECT_EQ(reason("exit 4"), "exit code 4");
  EXPECT_EQ(reason("kill -9 $$"), "ended by signal 9");
}

TEST_F(CommandHandler, ACommandThatCannotBeStartedIsAFailure) {
  Message message;
  Attempt attempt("key", 1, 1);
  Task task{message, attempt, {}, renewals_};
  const auto ran = command_handler({"/no/such/command"}, kLease, guardian_)(task);
  EXPECT_EQ(ran.error().message, "/no/such/command: No such file or directory");
}

TEST_F(CommandHandler, WhatItWritesToDescriptor3IsItsEffects) {
  const Result<Effects> ran = run(
      R"(echo '{"result":{"a":1},"logs":[{"stream":"s","events":[{"data":1}]}],' >&3
         echo '"tallies":[{"key":"t","kind":"sum","add":5}]}' >&$ONCE_EFFECTS_FD)");
  ASSERT_TRUE(ran.has_value()) << ran.error().message;
  EXPECT_EQ(ran->result(), R"({"a":1})");
  EXPECT_EQ(ran->appends().size(), 1U);
  EXPECT_EQ(ran->tallies().size(), 1U);
}

TEST_F(CommandHandler, EffectsThatAreNoneAreAFailure) {
  EXPECT_TRUE(reason("echo '{\"rezult\":1}' >&3").starts_with("its effects are none: "));
  EXPECT_TRUE(reason("echo '[1]' >&3").starts_with("its effects are none: "));
  EXPECT_TRUE(reason("echo '{' >&3").starts_with("its effects are none: "));
  EXPECT_EQ(reason("head -c 2000000 /dev/zero >&3"), "its effects are larger than 1 MiB");
}

TEST_F(CommandHandler, WhatItLeavesInTheBackgroundEndsWithIt) {
  const std::string file = (dir_.path() / "pid").string();
  ASSERT_TRUE(run("sleep 1000 & echo $! > " + file).has_value());
  std::ifstream in(file);
  pid_t pid = 0;
  in >> pid;
  const auto ended = [&] {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    const std::string text{std::istreambuf_iterator<char>(status), {}};
    return text.empty() || text.find("State:\tZ") != std::string::npos;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!ended() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(ended());
}

TEST_F(CommandHandler, ALostLeaseStopsIt) {
  const std::string file = (dir_.path() / "up").string();
  std::thread loser([&] {
    while (!std::filesystem::exists(file)) std::this_thread::yield();
    stop_.request_stop();
  });
  const Result<Effects> ran = run("touch " + file + "; sleep 1000");
  loser.join();
  EXPECT_EQ(ran.error().message, "the lease was lost");
}

TEST_F(CommandHandler, ManyRunAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> done = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j) done += run("cat > /dev/null; echo '{}' >&3", "body") ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 40);
}

}  // namespace
}  // namespace once::work
