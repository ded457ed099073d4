#include "server/token_watch.h"

#include <gtest/gtest.h>

#include "testing/manual_clock.h"

namespace once::server {
namespace {

using namespace std::chrono_literals;

class TokenWatchTest : public ::testing::Test {
 protected:
  static tokens::Listing one_token() {
    return {.tokens = {{tokens::id_of("secret"), {}}}, .damaged = {}, .has_mark = true};
  }
  void take(Result<tokens::Listing> listing) { watch_.take(std::move(listing), clock_.now()); }

  testing::ManualClock clock_;
  std::vector<std::string> lines_;
  Journal journal_{{.write =
                        [this](std::string_view line) {
                          lines_.emplace_back(line);
                          return true;
                        }},
                   clock_};
  metrics::Registry registry_;
  tokens::Table table_{clock_, 60s};
  TokenWatch watch_{table_, journal_, registry_};
};

TEST_F(TokenWatchTest, SaysOnceWhichTokenIsDamaged) {
  tokens::Listing listing = one_token();
  listing.damaged = {"bad"};
  take(listing);
  take(listing);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("damaged_token"), std::string::npos) << lines_[0];
  EXPECT_NE(lines_[0].find("id=bad"), std::string::npos) << lines_[0];
  EXPECT_TRUE(table_.find("secret").has_value());
}

TEST_F(TokenWatchTest, AfterAnErrorTheCopyGrowsOldAndThenThatIsSaid) {
  take(one_token());
  clock_.advance(30s);
  take(failure(ErrorCode::unavailable, "down"));
  EXPECT_TRUE(table_.is_trusted());
  clock_.advance(30s);
  take(failure(ErrorCode::unavailable, "down"));
  EXPECT_FALSE(table_.is_trusted());
  take(failure(ErrorCode::unavailable, "down"));
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("tokens_too_old"), std::string::npos) << lines_[0];
  EXPECT_NE(registry_.text().find("once_tokens_age_seconds 60"), std::string::npos);
  take(one_token());
  EXPECT_TRUE(table_.is_trusted());
}

TEST_F(TokenWatchTest, TokensThatCanNotBeReadAtTheStartLetNobodyIn) {
  take(failure(ErrorCode::corrupt, "an item fails its checks"));
  EXPECT_TRUE(table_.is_closed());
  EXPECT_FALSE(table_.is_trusted());
  take(one_token());
  EXPECT_TRUE(table_.is_trusted());
}

TEST_F(TokenWatchTest, KnowsThatAStoreWithTokensLacksItsMark) {
  EXPECT_FALSE(watch_.lacks_mark());
  take(tokens::Listing{});
  EXPECT_FALSE(watch_.lacks_mark());
  take(tokens::Listing{.tokens = one_token().tokens, .damaged = {}});
  EXPECT_TRUE(watch_.lacks_mark());
  take(one_token());
  EXPECT_FALSE(watch_.lacks_mark());
}

}  // namespace
}  // namespace once::server
