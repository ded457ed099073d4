// Thirty processes that change one document in the same moment, ours and as in
// docs/recipes.md#3-etag-documents.
#include <chrono>
#include <iostream>

#include "once/documents.h"
#include "once/local.h"
#include "stores/s3/store_fixture.h"
#include "testing/child_process.h"

namespace once::testing {
namespace {

constexpr int kWriters = 30;

std::string entry_of(int writer) { return "<" + std::to_string(writer) + ">"; }

int count_of(const std::string& text, const std::string& entry) {
  int count = 0;
  for (auto at = text.find(entry); at != text.npos; at = text.find(entry, at + 1)) ++count;
  return count;
}

class S3Contention : public S3Fixture {
 protected:
  // How many of them gave up.
  int run(const std::string& mode) {
    const S3Options& options = place_->options();
    std::vector<std::unique_ptr<ChildProcess>> writers;
    for (int i = 0; i < kWriters; ++i) {
      writers.push_back(std::make_unique<ChildProcess>(
          ONCE_S3_WRITER, std::vector<std::string>{mode, options.endpoint, options.bucket,
                                                   options.prefix, entry_of(i)}));
    }
    for (auto& writer : writers) EXPECT_EQ(writer->read_line(), "ready");
    const auto begun = std::chrono::steady_clock::now();
    for (auto& writer : writers) writer->end_input();
    int gave_up = 0;
    for (auto& writer : writers) gave_up += writer->wait() == 0 ? 0 : 1;
    const auto took = std::chrono::steady_clock::now() - begun;
    std::cout << mode << ": " << gave_up << " of " << kWriters << " gave up, the last was done in "
              << std::chrono::ceil<Duration>(took).count() << " ms\n";
    return gave_up;
  }
};

TEST_F(S3Contention, ThirtyProcessesOnOneDocumentAllSucceed) {
  EXPECT_EQ(run("ours"), 0);
  const std::string text = LocalDocuments(*store_).get("archive").value()->content.bytes;
  for (int i = 0; i < kWriters; ++i) EXPECT_EQ(count_of(text, entry_of(i)), 1) << i;
}

TEST_F(S3Contention, TheEtagDesignsOwnPolicyGivesUpUnderTheSameLoad) {
  const auto client = s3_client();
  const std::string path = "/bucket/" + place_->options().prefix + "/archive";
  ASSERT_EQ(s3_request(*client, {.method = "PUT", .path = path, .body = "-"}).status, 200);
  const int gave_up = run("theirs");
  EXPECT_GT(gave_up, 0);
  const std::string text = s3_request(*client, {.method = "GET", .path = path}).body;
  int written = 0;
  for (int i = 0; i < kWriters; ++i) written += count_of(text, entry_of(i)) > 0 ? 1 : 0;
  EXPECT_LT(written, kWriters);
}

}  // namespace
}  // namespace once::testing
