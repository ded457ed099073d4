#include "process/output_tee.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>

namespace once::process {
namespace {

struct Ends {
  explicit Ends(int flags = 0) {
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
void pass_on(OutputTee& tee) {
  for (;;) {
    pollfd awaited = tee.awaited();
    if (::poll(&awaited, 1, 0) <= 0) return;
    tee.advance();
  }
}

std::string varied(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

class OutputTeeTest : public ::testing::TestWithParam<int> {};

TEST_P(OutputTeeTest, AReaderThatStallsHoldsUpNobodyAndMissesNothing) {
  const Ends command;
  const Ends ours(GetParam());
  OutputTee tee(Descriptor(command.read), ours.write);
  const std::string text = varied(150'000);
  std::string read;
  std::string_view left = text;
  (void)::fcntl(command.write, F_SETFL, O_NONBLOCK);
  while (!left.empty()) {
    const auto count = ::write(command.write, left.data(), left.size());
    if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
    pass_on(tee);
    if (count < 0) read += content_of(ours.read);
  }
  ::close(command.write);
  while (!tee.is_done()) {
    pass_on(tee);
    read += content_of(ours.read);
  }
  EXPECT_TRUE(read == text) << read.size();
  EXPECT_EQ(tee.captured().bytes, text.substr(0, Keep::kUsual));
  EXPECT_TRUE(tee.captured().cut);
}

INSTANTIATE_TEST_SUITE_P(Output, OutputTeeTest, ::testing::Values(0, O_NONBLOCK),
                         [](const auto& param) {
                           return param.param == 0 ? "Blocking" : "NonBlocking";
                         });

TEST(OutputTee, WhatNobodyReadsIsKeptAllTheSame) {
  (void)::signal(SIGPIPE, SIG_IGN);
  const Ends command;
  const Ends ours;
  ::close(ours.read);
  OutputTee tee(Descriptor(command.read), ours.write);
  ASSERT_EQ(::write(command.write, "hello", 5), 5);
  pass_on(tee);
  ASSERT_EQ(::write(command.write, " you", 4), 4);
  ::close(command.write);
  pass_on(tee);
  EXPECT_TRUE(tee.is_done());
  EXPECT_EQ(tee.captured().bytes, "hello you");
}

TEST(OutputTee, WhatIsCutOffIsReadAsFarAsItIsThere) {
  const Ends command;
  const Ends ours;
  OutputTee tee(Descriptor(command.read), ours.write);
  const std::string text = varied(40'000);
  ASSERT_EQ(::write(command.write, text.data(), text.size()), 40'000);
  tee.cut_off();
  EXPECT_TRUE(tee.is_done());
  EXPECT_TRUE(content_of(ours.read) == text);
  EXPECT_TRUE(tee.captured().bytes == text);
}

TEST(OutputTee, TheLastBytesCanBeKeptAndNothingPassedOn) {
  const Ends command;
  OutputTee tee(Descriptor(command.read), -1, {.most = 5, .part = Keep::Part::last});
  for (const std::string_view part : {"ab", "cd", "efg"}) {
    ASSERT_EQ(::write(command.write, part.data(), part.size()), std::ssize(part));
    pass_on(tee);
  }
  ::close(command.write);
  pass_on(tee);
  EXPECT_TRUE(tee.is_done());
  EXPECT_EQ(tee.captured().bytes, "cdefg");
  EXPECT_TRUE(tee.captured().cut);
}

}  // namespace
}  // namespace once::process
