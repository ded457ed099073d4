#include "cli/output_passage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>

namespace once::cli {
namespace {

struct Pipe {
  explicit Pipe(int flags = 0) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | flags), 0);
    read = ends[0];
    write = ends[1];
  }

  int read = -1;
  int write = -1;
};

// What can be read without waiting.
std::string content_of(int fd) {
  std::string content;
  std::array<char, 4096> some;
  for (pollfd ready{fd, POLLIN, 0}; ::poll(&ready, 1, 0) > 0;) {
    const auto count = ::read(fd, some.data(), some.size());
    if (count <= 0) break;
    content.append(some.data(), static_cast<std::size_t>(count));
  }
  return content;
}

// All that can be done without waiting.
void pass_on(OutputPassage& passage) {
  for (;;) {
    std::array<pollfd, 2> watched = {passage.readable(), passage.writable()};
    if (::poll(watched.data(), watched.size(), 0) <= 0) return;
    if (watched[0].revents != 0) passage.read();
    if (watched[1].revents != 0) passage.write();
  }
}

std::string varied(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

class OutputPassageTest : public ::testing::TestWithParam<int> {};

TEST_P(OutputPassageTest, AReaderThatStallsHoldsUpNobodyAndMissesNothing) {
  const Pipe command;
  const Pipe ours(GetParam());
  OutputPassage passage(command.read, ours.write);
  const std::string text = varied(150'000);
  std::string read;
  std::string_view left = text;
  (void)::fcntl(command.write, F_SETFL, O_NONBLOCK);
  while (!left.empty()) {
    const auto count = ::write(command.write, left.data(), left.size());
    if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
    pass_on(passage);
    if (count < 0) read += content_of(ours.read);
  }
  ::close(command.write);
  while (!passage.is_done()) {
    pass_on(passage);
    read += content_of(ours.read);
  }
  EXPECT_TRUE(read == text) << read.size();
  EXPECT_EQ(passage.captured().bytes, text.substr(0, Captured::kMost));
  EXPECT_TRUE(passage.captured().cut);
}

INSTANTIATE_TEST_SUITE_P(Output, OutputPassageTest, ::testing::Values(0, O_NONBLOCK),
                         [](const auto& param) {
                           return param.param == 0 ? "Blocking" : "NonBlocking";
                         });

TEST(OutputPassage, WhatNobodyReadsIsKeptAllTheSame) {
  (void)::signal(SIGPIPE, SIG_IGN);
  const Pipe command;
  const Pipe ours;
  ::close(ours.read);
  OutputPassage passage(command.read, ours.write);
  ASSERT_EQ(::write(command.write, "hello", 5), 5);
  pass_on(passage);
  ASSERT_EQ(::write(command.write, " you", 4), 4);
  ::close(command.write);
  pass_on(passage);
  EXPECT_TRUE(passage.is_done());
  EXPECT_EQ(passage.captured().bytes, "hello you");
}

TEST(OutputPassage, WhatIsCutOffIsReadAsFarAsItIsThere) {
  const Pipe command;
  const Pipe ours;
  OutputPassage passage(command.read, ours.write);
  const std::string text = varied(40'000);
  ASSERT_EQ(::write(command.write, text.data(), text.size()), 40'000);
  passage.cut_off();
  EXPECT_TRUE(passage.is_done());
  EXPECT_TRUE(content_of(ours.read) == text);
  EXPECT_TRUE(passage.captured().bytes == text);
}

}  // namespace
}  // namespace once::cli
