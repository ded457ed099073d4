// Stores in buckets of one Ceph that the whole program shares.
#pragma once

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "aws/client.h"
#include "aws/credential_chain.h"
#include "once/s3_store.h"
#include "testing/servers/ceph_s3.h"

namespace once::testing {

// Started when it is first asked for. Its processes end with the thread that asked, which has to be
// the program's first.
inline CephS3& shared_s3() {
  // Programs that are started inherit the keys.
  static const bool named = ::setenv("AWS_ACCESS_KEY_ID", CephS3::kAccessKey, 1) == 0 &&
                            ::setenv("AWS_SECRET_ACCESS_KEY", CephS3::kSecretKey, 1) == 0;
  static CephS3 server;
  if (!named) throw std::runtime_error("no environment");
  return server;
}

inline std::unique_ptr<aws::Client> s3_client() {
  auto client = aws::Client::open({.endpoint = shared_s3().url(),
                                   .region = "us-east-1",
                                   .service = "s3",
                                   .credentials = aws::default_credentials()});
  if (!client) throw std::runtime_error(client.error().message);
  return std::move(*client);
}

inline aws::Response s3_request(aws::Client& client, const aws::Request& request) {
  auto answer = client.send(request, std::chrono::steady_clock::now() + std::chrono::seconds(30));
  if (!answer) throw std::runtime_error(answer.error().message);
  return std::move(*answer);
}

inline void make_bucket(const std::string& name) {
  const auto client = s3_client();
  const aws::Response made = s3_request(*client, {.method = "PUT", .path = "/" + name});
  if (made.status != 200) throw std::runtime_error("no bucket: " + made.body);
}

// A new, empty prefix of a bucket that the program's stores share.
class S3Place {
 public:
  S3Place() {
    static const bool made = [] {
      make_bucket("bucket");
      return true;
    }();
    static std::atomic<int> count = 0;
    options_ = {.bucket = made ? "bucket" : "",
                .prefix = "store-" + std::to_string(++count),
                .endpoint = shared_s3().url(),
                .bare_etags = true,
                .timeout = std::chrono::seconds(30)};  // The machine may be busy.
  }

  const S3Options& options() const { return options_; }
  std::string address() const {
    return "s3://" + options_.bucket + "/" + options_.prefix +
           "?etag=bare&timeout=30&endpoint=" + options_.endpoint;
  }

 private:
  S3Options options_;
};

}  // namespace once::testing
