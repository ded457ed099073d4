#include "testing/servers/daemon.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "testing/temp_dir.h"

namespace once::testing {
namespace {

// Gone, or dead and not yet waited for by the process that inherited it.
bool ended(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State:")) return line.find('Z') != std::string::npos;
  }
  return true;
}

TEST(Daemon, EndsWithItsOwner) {
  const TempDir directory;
  pid_t pid = 0;
  {
    Daemon daemon("sleep", {"1000"}, directory.path());
    pid = daemon.pid();
    EXPECT_TRUE(daemon.alive());
    EXPECT_FALSE(ended(pid));
  }
  EXPECT_TRUE(ended(pid));
}

TEST(Daemon, EndsWhenTheTestIsKilled) {
  const TempDir directory;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t test = ::fork();
  if (test == 0) {
    Daemon daemon("sleep", {"1000"}, directory.path());
    const pid_t pid = daemon.pid();
    if (::write(pipe[1], &pid, sizeof(pid)) == sizeof(pid)) ::raise(SIGKILL);
    ::_exit(1);
  }
  pid_t pid = 0;
  ASSERT_EQ(::read(pipe[0], &pid, sizeof(pid)), static_cast<ssize_t>(sizeof(pid)));
  ASSERT_EQ(::waitpid(test, nullptr, 0), test);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!ended(pid) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(ended(pid));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(Daemon, SaysWhatItPrinted) {
  const TempDir directory;
  Daemon daemon("sh", {"-c", "echo out; echo err >&2; pwd"}, directory.path());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (daemon.alive() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(daemon.log(), "out\nerr\n" + directory.path().string() + "\n");
}

TEST(Daemon, IsWaitedForUntilItSaysSomething) {
  const TempDir directory;
  {
    Daemon first("sh", {"-c", "echo read; echo y; exec sleep 1000"}, directory.path());
    EXPECT_TRUE(first.says("y\n"));
  }
  Daemon second("sh", {"-c", "echo not yet"}, directory.path());
  EXPECT_FALSE(second.says("read")) << "the other one said that";
  EXPECT_FALSE(second.alive());
}

}  // namespace
}  // namespace once::testing
