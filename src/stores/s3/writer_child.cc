// One of many writers of a document on S3, each a process of its own: adds its entry when its input
// ends, and exits with 0 if that succeeded, with 3 if it gave up.
//   writer_child ours STORE-ADDRESS-PARTS ENTRY
//   writer_child theirs ... : as in docs/recipes.md#3-etag-documents, on the object itself
// The parts are ENDPOINT BUCKET PREFIX.
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "aws/client.h"
#include "aws/credential_chain.h"
#include "once/documents.h"
#include "once/local.h"
#include "once/s3_store.h"

namespace {

using namespace once;

constexpr int kGaveUp = 3;

bool add_ours(Store& store, const std::string& entry) {
  LocalDocuments documents(store);
  const auto modify =
      [&](const std::optional<documents::Content>& current) -> Result<documents::Modified> {
    return documents::Content{(current ? current->bytes : "") + entry};
  };
  const auto outcome = documents.update("archive", {modify, {entry}, entry});
  if (!outcome) std::cerr << outcome.error().message << "\n";
  return outcome && std::holds_alternative<documents::Updated>(*outcome);
}

// Read with the ETag, modify, write if it still matches; up to three retries after 100, 200 and
// 400 ms, on a mismatch only. This Ceph says 500 to some who lost a race: that counts as one.
bool add_theirs(aws::Client& client, const std::string& path, const std::string& entry) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int attempt = 0; attempt <= 3; ++attempt) {
    const auto got = client.send({.method = "GET", .path = path}, deadline);
    if (!got || got->status != 200) return false;
    std::string etag(aws::header_of(got->headers, "ETag"));
    std::erase(etag, '"');
    const auto put = client.send(
        {.method = "PUT", .path = path, .headers = {{"If-Match", etag}}, .body = got->body + entry},
        deadline);
    if (put && put->status == 200) return true;
    if (!put || (put->status != 412 && put->status != 500)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100 << attempt));
  }
  return false;
}

// Whoever holds the other end lets all go at once.
void await_start() {
  std::cout << "ready" << std::endl;  // NOLINT(performance-avoid-endl): it is waited for.
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 64;
  const std::string mode = words[1];
  const std::string entry = words[5];
  const S3Options options{.bucket = words[3],
                          .prefix = words[4],
                          .endpoint = words[2],
                          .bare_etags = true,
                          .timeout = std::chrono::seconds(30)};
  if (mode == "ours") {
    const auto store = open_s3(options);
    if (!store) return 69;
    await_start();
    return add_ours(**store, entry) ? 0 : kGaveUp;
  }
  const auto client = aws::Client::open({.endpoint = options.endpoint,
                                         .region = "us-east-1",
                                         .service = "s3",
                                         .credentials = aws::default_credentials()});
  if (!client) return 69;
  await_start();
  const std::string path = "/" + options.bucket + "/" + options.prefix + "/archive";
  return add_theirs(**client, path, entry) ? 0 : kGaveUp;
}
