#include "process/process.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "testing/temp_dir.h"

namespace once::process {
namespace {

using namespace std::chrono_literals;

std::string line_of(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

bool is_gone(const std::string& pid) {
  std::ifstream in("/proc/" + pid + "/status");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return text.empty() || text.find("State:\tZ") != std::string::npos;
}

bool is_gone_within_seconds(const std::string& pid, int seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!is_gone(pid) && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  return is_gone(pid);
}

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { (void)::signal(SIGPIPE, SIG_IGN); }

  Finished run(const std::string& script, std::vector<Output> outputs = {{STDOUT_FILENO}}) const {
    const auto process =
        Process::start({.words = {"sh", "-c", script}, .outputs = std::move(outputs)}, guardian_);
    return process.value()->wait();
  }
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }

  const testing::TempDir dir_;
  const Guardian guardian_ = Guardian::start().value();
};

std::string report;  // A FIFO.

// In the parent, right after its fork.
void die_once_reported() {
  (void)line_of(report);
  (void)::kill(::getpid(), SIGKILL);
}

TEST_F(ProcessTest, H29_KilledRightAfterTheForkItLeavesNoGrandchild) {
  report = path("report");
  ASSERT_EQ(::mkfifo(report.c_str(), 0600), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const Result<Guardian> guardian = Guardian::start();
    (void)::pthread_atfork(nullptr, die_once_reported, nullptr);
    (void)Process::start(
        {.words = {"sh", "-c",
                   "sleep 60 & echo $! > " + path("pid") + "; echo > " + report + "; wait"}},
        *guardian);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(is_gone_within_seconds(line_of(path("pid")), 20));
}

TEST_F(ProcessTest, TheExitCodeIsAsShellsSayIt) {
  EXPECT_EQ(run("exit 7").exit_code(), 7);
  EXPECT_EQ(run("kill -9 $$").exit_code(), 128 + 9);
}

TEST_F(ProcessTest, EachOutputIsKeptAsAskedFor) {
  const Finished finished =
      run("echo one; echo two >&2; printf abc >&3",
          {{STDOUT_FILENO}, {STDERR_FILENO}, {.descriptor = 3, .keep = {.most = 2}}});
  EXPECT_EQ(finished.outputs[0].bytes, "one\n");
  EXPECT_EQ(finished.outputs[1].bytes, "two\n");
  EXPECT_EQ(finished.outputs[2].bytes, "ab");
  EXPECT_TRUE(finished.outputs[2].cut);
}

TEST_F(ProcessTest, TheInputIsAllThatTheCommandReads) {
  const std::string input(300'000, 'x');
  const auto process = Process::start(
      {.words = {"wc", "-c"}, .input = input, .outputs = {{STDOUT_FILENO}}}, guardian_);
  EXPECT_EQ(process.value()->wait().outputs[0].bytes, "300000\n");
}

TEST_F(ProcessTest, AVariableReplacesOursAndOneWithANulIsLeftOut) {
  ASSERT_EQ(::setenv("ONCE_TEST_A", "old", 1), 0);
  ASSERT_EQ(::setenv("ONCE_TEST_B", "old", 1), 0);
  const auto process =
      Process::start({.words = {"sh", "-c", "echo $ONCE_TEST_A${ONCE_TEST_B-unset}"},
                      .environment = {{"ONCE_TEST_A", "new"}, {"ONCE_TEST_B", {"a\0b", 3}}},
                      .outputs = {{STDOUT_FILENO}}},
                     guardian_);
  EXPECT_EQ(process.value()->wait().outputs[0].bytes, "newunset\n");
}

TEST_F(ProcessTest, ACommandHasNeitherTheTokenNorTheStoresAddress) {
  for (const char* name : {"ONCE_TOKEN", "ONCE_TOKEN_FILE", "ONCE_STORE"}) {
    ASSERT_EQ(::setenv(name, "s3cret", 1), 0);
  }
  const auto process = Process::start({.words = {"env"}, .outputs = {{STDOUT_FILENO}}}, guardian_);
  const std::string variables = process.value()->wait().outputs[0].bytes;
  EXPECT_EQ(variables.find("s3cret"), std::string::npos) << variables;
  EXPECT_NE(variables.find("PATH="), std::string::npos);
  for (const char* name : {"ONCE_TOKEN", "ONCE_TOKEN_FILE", "ONCE_STORE"}) ::unsetenv(name);
}

TEST_F(ProcessTest, ACommandThatIsStoppedEndsAndSaysSo) {
  const std::string up = path("up");
  ASSERT_EQ(::mkfifo(up.c_str(), 0600), 0);
  const auto process = Process::start(
      {.words = {"sh", "-c", "trap 'exit 3' TERM; echo > " + up + "; while :; do sleep 1; done"}},
      guardian_);
  std::thread stopper([&] {
    (void)line_of(up);
    process.value()->stop();
  });
  const Finished finished = process.value()->wait();
  stopper.join();
  EXPECT_TRUE(finished.stopped);
  EXPECT_EQ(finished.exit_code(), 3);
}

TEST_F(ProcessTest, WhatItLeavesInItsGroupEndsWithIt) {
  const Finished finished = run("sleep 1000 & echo $!");
  const std::string pid = finished.outputs[0].bytes;
  EXPECT_TRUE(is_gone_within_seconds(pid.substr(0, pid.find('\n')), 20));
}

// Nobody waits for it here, as if this process were stopped.
TEST_F(ProcessTest, H38_TheGuardianEndsACommandWhoseTimeIsOverWhateverItsParentDoes) {
  const std::string up = path("up");
  ASSERT_EQ(::mkfifo(up.c_str(), 0600), 0);
  const auto stubborn = Process::start(
      {.words = {"sh", "-c",
                 "trap '' TERM; sleep 60 & echo $! > " + up + "; while :; do wait; done"}},
      guardian_);
  ASSERT_TRUE(stubborn.has_value());
  const std::string grandchild = line_of(up);
  stubborn.value()->extend({.warn_at = since_boot(), .end_at = since_boot() + 100ms});
  EXPECT_TRUE(is_gone_within_seconds(grandchild, 20));
  EXPECT_EQ(stubborn.value()->wait().exit_code(), 128 + SIGKILL);
}

TEST_F(ProcessTest, H38_TheGuardianWarnsBeforeTheEnd) {
  const std::string up = path("up");
  ASSERT_EQ(::mkfifo(up.c_str(), 0600), 0);
  const auto process = Process::start(
      {.words = {"sh", "-c", "trap 'exit 3' TERM; echo > " + up + "; while :; do sleep 1; done"}},
      guardian_);
  (void)line_of(up);
  process.value()->extend({.warn_at = since_boot(), .end_at = since_boot() + 1h});
  EXPECT_EQ(process.value()->wait().exit_code(), 3);
}

// The second is ended after the first would have been.
TEST_F(ProcessTest, H38_ACommandWhoseLeaseIsRenewedGoesOn) {
  ASSERT_EQ(::mkfifo(path("hold").c_str(), 0600), 0);
  const BootTime end = since_boot() + 300ms;
  const auto extended =
      Process::start({.words = {"sh", "-c", "read line < " + path("hold") + "; exit 5"},
                      .lifetime = {.end_at = end}},
                     guardian_);
  extended.value()->extend({});
  const auto second =
      Process::start({.words = {"sleep", "60"}, .lifetime = {.end_at = end + 100ms}}, guardian_);
  EXPECT_EQ(second.value()->wait().exit_code(), 128 + SIGKILL);
  std::ofstream(path("hold")) << '\n';
  EXPECT_EQ(extended.value()->wait().exit_code(), 5);
}

// The renewal that comes too late does not make it a failure of its own.
TEST_F(ProcessTest, H38_ACommandThatWasWarnedOnceSaysSo) {
  ASSERT_EQ(::mkfifo(path("hold").c_str(), 0600), 0);
  const auto process = Process::start({.words = {"sh", "-c", "read line < " + path("hold")},
                                       .lifetime = {.end_at = since_boot() + 1h}},
                                      guardian_);
  process.value()->extend({.warn_at = since_boot(), .end_at = since_boot() + 1h});
  process.value()->extend({.end_at = since_boot() + 1h});
  const Finished warned = process.value()->wait();
  EXPECT_TRUE(warned.warned);
  EXPECT_FALSE(warned.stopped);
  EXPECT_FALSE(run("exit 3").warned);
}

TEST(LifetimeOfALease, H38_IsWarnedATenthOrASecondBeforeTheEnd) {
  const Time now = system_clock().now();
  const Lifetime brief = Lifetime::of_lease(now + 1s, 1s);
  EXPECT_EQ(brief.end_at - brief.warn_at, 100ms);
  const Lifetime usual = Lifetime::of_lease(now + 30s, 30s);
  EXPECT_EQ(usual.end_at - usual.warn_at, 1s);
  EXPECT_LE(usual.end_at, since_boot() + 30s);
  EXPECT_FALSE(Lifetime::of_lease(kNever, 30s).is_warned());
  EXPECT_TRUE(Lifetime::of_lease(now - 1ms, 30s).is_over());
}

TEST_F(ProcessTest, H38_NothingStartsAfterItsEnd) {
  const auto late = Process::start(
      {.words = {"touch", path("ran")}, .lifetime = {.end_at = since_boot()}}, guardian_);
  ASSERT_FALSE(late.has_value());
  EXPECT_NE(::access(path("ran").c_str(), F_OK), 0);
}

TEST_F(ProcessTest, WhatCannotBeStartedSaysWhy) {
  const auto process = Process::start({.words = {"/no/such/command"}}, guardian_);
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(process.error().message, "/no/such/command: No such file or directory");
}

}  // namespace
}  // namespace once::process
