#include "stores/s3/startup.h"

#include <string>
#include <utility>

#include "kernel/format.h"
#include "stores/s3/limits.h"
#include "stores/s3/reply.h"

namespace once::s3 {
namespace {

constexpr std::uint32_t kFormat = 1;
constexpr std::string_view kFormatName = "!format";

using Checked = Result<void>;

// In words that say what to do about it.
Error explained(Error error, const Bucket& bucket) {
  const std::string name = "bucket \"" + bucket.name() + "\"";
  if (error.message.find("NoSuchBucket") != std::string::npos) {
    error.message = "there is no " + name + " in S3 here; make it first";
  } else if (error.code == ErrorCode::denied) {
    error.message = name + " is not ours to use: " + error.message;
  } else if (error.code == ErrorCode::invalid) {
    error.message = name + " cannot be used: " + error.message;
  } else {
    error.message = "s3: " + error.message;
  }
  return error;
}

// An object of the tests' own, removed in the end.
class Trial {
 public:
  Trial(Bucket& bucket, Entropy& entropy, aws::Deadline deadline)
      : bucket_(bucket), deadline_(deadline), name_("!trial-" + std::to_string(entropy.random())) {}
  ~Trial() { (void)bucket_.send(bucket_.remove(name_, {}), deadline_); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // What the server made of it; an error only if it said something else. A refusal of what it has
  // written is the answer to a copy that a gateway sent (docs/hazards.md#h33).
  Result<Written> put(const Condition& condition) {
    const std::string body = std::to_string(++puts_);
    Result<Written> written = told(bucket_.put(name_, body, condition));
    if (!written || written->kind != Written::Kind::refused) return written;
    const Result<aws::Response> found = bucket_.send(bucket_.get(name_), deadline_);
    if (found && found->status < 300 && found->body == body) {
      written->kind = Written::Kind::done;
      written->etag = aws::header_of(found->headers, "ETag");
    }
    return written;
  }
  Result<Written> remove(const Condition& condition) {
    return told(bucket_.remove(name_, condition));
  }
  Result<bool> exists() {
    const auto body = read_body(bucket_.send(bucket_.get(name_), deadline_));
    if (!body) return std::unexpected(explained(body.error(), bucket_));
    return body->has_value();
  }

 private:
  Result<Written> told(const aws::Request& request) {
    Written written = read_written(bucket_.send(request, deadline_));
    if (written.kind == Written::Kind::failed) {
      return std::unexpected(explained(std::move(written.error), bucket_));
    }
    return written;
  }

  Bucket& bucket_;
  const aws::Deadline deadline_;
  const std::string name_;
  int puts_ = 0;
};

std::unexpected<Error> ignores(std::string_view condition) {
  std::string message = "this server ignores ";
  message.append(condition).append(" on PUT, without which nothing here would be safe");
  return failure(ErrorCode::unsupported, std::move(message));
}

bool is(const Written& written, Written::Kind kind) { return written.kind == kind; }

// Once for each prefix: a server that writes where it should refuse would break every promise.
Checked try_conditions(Bucket& bucket, Entropy& entropy, aws::Deadline deadline) {
  Trial trial(bucket, entropy, deadline);
  const Result<Written> first = trial.put({Condition::Kind::absent, {}});
  if (!first) return std::unexpected(first.error());
  const Result<Written> second = trial.put({Condition::Kind::absent, {}});
  if (!second) return std::unexpected(second.error());
  if (is(*second, Written::Kind::done)) return ignores("If-None-Match");
  const Result<Written> matching = trial.put({Condition::Kind::match, first->etag});
  if (!matching) return std::unexpected(matching.error());
  if (is(*matching, Written::Kind::refused)) {
    return failure(ErrorCode::unsupported,
                   bucket.bare_etags()
                       ? "this server refuses a bare ETag in If-Match; leave out etag=bare"
                       : "this server refuses a quoted ETag in If-Match; add the option etag=bare");
  }
  const Result<Written> stale = trial.put({Condition::Kind::match, first->etag});
  if (!stale) return std::unexpected(stale.error());
  if (is(*stale, Written::Kind::done)) return ignores("If-Match");
  return {};
}

Checked write_format(Bucket& bucket, aws::Deadline deadline) {
  const aws::Request request =
      bucket.put(kFormatName, format::encode_format_number(kFormat), {Condition::Kind::absent, {}});
  const Written written = read_written(bucket.send(request, deadline));
  if (is(written, Written::Kind::failed)) return std::unexpected(explained(written.error, bucket));
  return {};  // Or another process writes it at the same time.
}

}  // namespace

Result<void> check_bucket(Bucket& bucket, Entropy& entropy, aws::Deadline deadline) {
  const auto body = read_body(bucket.send(bucket.get(kFormatName), deadline));
  if (!body) return std::unexpected(explained(body.error(), bucket));
  if (!*body) {
    if (Checked kept = try_conditions(bucket, entropy, deadline); !kept) return kept;
    return write_format(bucket, deadline);
  }
  const Result<std::uint32_t> format = format::decode_format_number(**body);
  if (!format) return std::unexpected(format.error());
  if (*format <= kFormat) return {};
  return failure(ErrorCode::unsupported, "the store was written by a newer version of Once");
}

Result<void> learn_time(Bucket& bucket, aws::Deadline deadline) {
  constexpr int kTries = 5;
  const auto is_known = [&bucket] {
    const std::optional<Duration> error = bucket.server_offset().error();
    return error && *error <= kClockError && bucket.server_offset().is_settled();
  };
  for (int i = 0; i < kTries && !is_known(); ++i) {
    const auto body = read_body(bucket.send(bucket.get(kFormatName), deadline));
    if (!body) return std::unexpected(explained(body.error(), bucket));
  }
  if (is_known()) return {};
  return failure(ErrorCode::unavailable,
                 "s3: its answers do not tell the time well enough to judge leases by it");
}

Result<bool> keeps_to_conditions_on_delete(Bucket& bucket, Entropy& entropy,
                                           aws::Deadline deadline) {
  Trial trial(bucket, entropy, deadline);
  const Result<Written> first = trial.put({Condition::Kind::absent, {}});
  if (!first) return std::unexpected(first.error());
  const Result<Written> newer = trial.put({Condition::Kind::match, first->etag});
  if (!newer) return std::unexpected(newer.error());
  const Result<Written> stale = trial.remove({Condition::Kind::match, first->etag});
  if (!stale) {
    // One that does not know the condition may say so.
    const ErrorCode code = stale.error().code;
    if (code == ErrorCode::unsupported || code == ErrorCode::invalid) return false;
    return std::unexpected(stale.error());
  }
  if (!is(*stale, Written::Kind::refused)) return false;
  return trial.exists();
}

}  // namespace once::s3
