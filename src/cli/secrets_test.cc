#include "cli/secrets.h"

#include <gtest/gtest.h>

#include <vector>

#include "cli/cli_fixture.h"

namespace once::cli {
namespace {

std::vector<std::string> hidden(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  hide_secrets(pointers);
  return words;
}

using Words = std::vector<std::string>;

TEST(Secrets, ATokenAndPasswordsAreOverwritten) {
  EXPECT_EQ(hidden({"seen", "--token", "abc", "id"}), (Words{"seen", "--token", "***", "id"}));
  EXPECT_EQ(hidden({"seen", "--token=abc"}), (Words{"seen", "--token=***"}));
  EXPECT_EQ(hidden({"serve", "--store", "redis://u:pass@h/0"}),
            (Words{"serve", "--store", "redis://u:****@h/0"}));
  EXPECT_EQ(hidden({"serve", "--store=redis://u:pass@h/0"}),
            (Words{"serve", "--store=redis://u:****@h/0"}));
  EXPECT_EQ(hidden({"work", "amqp://u:pass@h/q"}), (Words{"work", "amqp://u:****@h/q"}));
}

TEST(Secrets, WhatIsNoneIsLeftAlone) {
  const Words plain = {"seen", "--token-file", "abc", "--store", "http://h:7600", "--token"};
  EXPECT_EQ(hidden(plain), plain);
  const Words of_command = {"run", "key", "--", "curl", "--token", "abc", "http://u:p@h"};
  EXPECT_EQ(hidden(of_command), of_command);
}

TEST(Secrets, ATokenIsTheFirstLineOfItsFile) {
  const testing::TempDir dir;
  const std::string file = (dir.path() / "token").string();
  const auto held = [&](const std::string& content) {
    std::ofstream(file) << content;
    return token_in(file);
  };
  EXPECT_EQ(held("once_abc\n").value(), "once_abc");
  EXPECT_EQ(held("once_abc").value(), "once_abc");
  EXPECT_EQ(held("once_abc \r\nmore").value(), "once_abc");
  for (const std::string& none : {std::string(), std::string("\n"), std::string("two words"),
                                  std::string(1'025, 'x'), std::string("a\0b", 3)}) {
    EXPECT_EQ(held(none).error().code, ErrorCode::invalid) << none;
  }
  EXPECT_EQ(token_in((dir.path() / "missing").string()).error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace once::cli
