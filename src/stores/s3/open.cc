// Opening: the wire, the check of what is at its end, and the retries.
#include <algorithm>
#include <utility>

#include "once/retrying_store.h"
#include "stores/decorators/decorator.h"
#include "stores/s3/limits.h"
#include "stores/s3/startup.h"
#include "stores/s3/store.h"

namespace once {
namespace {

using s3::Bucket;
using s3::BucketStore;

// One attempt takes a fifth of the time for a call; retrying_store.h adds up to two to its own
// deadline: one that began just before it, and the reading back of that.
constexpr int kShares = 5;

RetryOptions retries_within(Duration timeout) {
  return {.cap = std::chrono::seconds(1), .deadline = timeout - 2 * (timeout / kShares)};
}

class RetriedBucket final : public Decorator<S3Store> {
 public:
  RetriedBucket(std::unique_ptr<BucketStore> bucket, std::unique_ptr<Store> retried,
                std::size_t connections)
      : Decorator(*retried),
        bucket_(std::move(bucket)),
        retried_(std::move(retried)),
        limits_(bucket_->limits()) {
    limits_.calls_in_flight = std::min(limits_.calls_in_flight, connections);
  }

  const Limits& limits() const override { return limits_; }

  S3Counts counts() const override { return bucket_->counts(); }

 private:
  const std::unique_ptr<BucketStore> bucket_;
  const std::unique_ptr<Store> retried_;  // Before the bucket, and destroyed first.
  Limits limits_;  // A call that hangs keeps a connection, so there are no more of them.
};

// As S3 has them: what else would go into a host's name or a path.
bool is_bucket(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, allowed) &&
         name.front() != '.' && name.find("..") == std::string_view::npos;
}

// Servers make other paths of "//", "." and "..", and what begins with '!' is a store's own: no
// store is to lie within the names of another.
bool is_prefix(std::string_view prefix) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; };
  if (prefix.size() > s3::kMaxPrefixBytes || std::ranges::any_of(prefix, control)) return false;
  std::string_view rest = prefix;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    if (segment.empty() || segment == "." || segment == ".." || segment.starts_with('!')) {
      return false;
    }
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
  }
  return true;
}

Result<void> check_options(const S3Options& options) {
  constexpr Duration kLeast = std::chrono::seconds(1);
  if (!is_bucket(options.bucket)) {
    return failure(
        ErrorCode::invalid,
        "s3: a bucket's name has 3 to 63 of a-z, 0-9, '-' and '.', not \"" + options.bucket + "\"");
  }
  if (!is_prefix(options.prefix)) {
    return failure(ErrorCode::invalid,
                   "s3: a prefix has at most 256 bytes, no control characters, and between "
                   "its slashes nothing that is empty, \".\", \"..\" or begins with '!'");
  }
  if (options.timeout < kLeast || options.timeout > kAttemptLife) {
    return failure(ErrorCode::invalid, "s3: a timeout has 1 to 60 seconds");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<S3Store>> open_s3(const S3Options& options, Clock& clock, Entropy& entropy) {
  if (Result<void> sound = check_options(options); !sound) {
    return std::unexpected(std::move(sound.error()));
  }
  auto bucket = Bucket::connect(options);
  if (!bucket) return std::unexpected(std::move(bucket.error()));
  const aws::Deadline until = std::chrono::steady_clock::now() + options.timeout;
  if (Result<void> usable = s3::check_bucket(**bucket, entropy, until); !usable) {
    return std::unexpected(std::move(usable.error()));
  }
  if (Result<void> known = s3::learn_time(**bucket, until); !known) {
    return std::unexpected(std::move(known.error()));
  }
  auto store =
      std::make_unique<BucketStore>(std::move(*bucket), options.timeout / kShares, clock, entropy);
  std::unique_ptr<Store> retried = retry(*store, retries_within(options.timeout), clock, entropy);
  return std::make_unique<RetriedBucket>(std::move(store), std::move(retried), options.connections);
}

}  // namespace once
