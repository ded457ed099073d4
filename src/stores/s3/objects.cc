// Plain objects under the prefix of an address, as kernel/objects.h has them.
#include "stores/s3/objects.h"

#include <utility>

#include "base/backoff.h"
#include "once/entropy.h"
#include "stores/s3/bucket.h"
#include "stores/s3/listing.h"
#include "stores/s3/reply.h"

namespace once {
namespace {

constexpr Duration kAttempt = std::chrono::seconds(60);
constexpr int kTries = 6;
constexpr PauseBounds kPauses{
    .shortest = Duration(50), .first = Duration(200), .longest = Duration(5'000)};

aws::Deadline soon() { return std::chrono::steady_clock::now() + kAttempt; }

bool is_passing(int status) { return status >= 500 || status == 429 || status == 408; }

class BucketObjects final : public Objects {
 public:
  explicit BucketObjects(std::unique_ptr<s3::Bucket> bucket) : bucket_(std::move(bucket)) {}

  Result<void> put(std::string_view name, std::string bytes) override {
    const Result<aws::Response> answer = send(bucket_->put(name, std::move(bytes), {}));
    if (!answer) return std::unexpected(answer.error());
    return answer->status / 100 == 2 ? Result<void>{} : refused(*answer, name);
  }

  Result<std::string> get(std::string_view name) override {
    Result<aws::Response> answer = send(bucket_->get(name));
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (answer->status == 404) {
      return failure(ErrorCode::invalid, "there is no object " + std::string(name));
    }
    if (answer->status / 100 != 2) return refused(*answer, name);
    return std::move(answer->body);
  }

  Result<std::vector<std::string>> list(std::string_view prefix) override {
    std::vector<std::string> names;
    for (bool more = true; more;) {
      const std::string after = names.empty() ? "" : names.back();
      Result<s3::NamePage> page =
          s3::list_names(*bucket_, prefix, after, s3::kNamesPerList, soon());
      if (!page) return std::unexpected(std::move(page.error()));
      for (s3::Listed& listed : page->names) names.push_back(std::move(listed.name));
      more = page->more && !page->names.empty();
    }
    return names;
  }

  Result<void> remove(std::string_view name) override {
    const Result<aws::Response> answer = send(bucket_->remove(name, {}));
    if (!answer) return std::unexpected(answer.error());
    const bool gone = answer->status / 100 == 2 || answer->status == 404;
    return gone ? Result<void>{} : refused(*answer, name);
  }

 private:
  static std::unexpected<Error> refused(const aws::Response& answer, std::string_view name) {
    return failure(ErrorCode::unavailable, "s3 answers " + std::to_string(answer.status) + " for " +
                                               std::string(name) + ": " +
                                               answer.body.substr(0, 300));
  }

  Result<aws::Response> send(const aws::Request& request) {
    Backoff backoff(kPauses, system_clock(), system_entropy());
    for (int tries = 1;; ++tries) {
      Result<aws::Response> answer = bucket_->send(request, soon());
      const bool again = answer ? is_passing(answer->status) : is_transient(answer.error());
      if (!again || tries == kTries) return answer;
      (void)backoff.pause();
    }
  }

  const std::unique_ptr<s3::Bucket> bucket_;
};

}  // namespace

Result<std::unique_ptr<Objects>> open_objects(const S3Options& options) {
  Result<std::unique_ptr<s3::Bucket>> bucket = s3::Bucket::connect(options);
  if (!bucket) return std::unexpected(std::move(bucket.error()));
  return std::make_unique<BucketObjects>(std::move(*bucket));
}

}  // namespace once
