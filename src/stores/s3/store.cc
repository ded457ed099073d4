#include "stores/s3/store.h"

#include <functional>
#include <utility>

#include "aws/group.h"
#include "stores/s3/commit_attempt.h"
#include "stores/s3/limits.h"

namespace once::s3 {

BucketStore::BucketStore(std::unique_ptr<Bucket> bucket, Duration patience, Clock& clock,
                         Entropy& entropy)
    : bucket_(std::move(bucket)),
      patience_(patience),
      clock_(clock),
      entropy_(entropy),
      sweeper_(entropy) {}

const Limits& BucketStore::limits() const { return kLimits; }

std::string BucketStore::describe() const {
  std::string text = "s3 bucket ";
  text.append(bucket_->name());
  if (!bucket_->prefix().empty()) text.append(" under ").append(bucket_->prefix());
  if (bucket_->plain_documents()) text.append(", documents as plain objects");
  return text.append(", one write a commit, as durable as S3");
}

// Every answer corrects the offset, so it may become smaller; now() must not (docs/hazards.md#h15).
Time BucketStore::now() {
  const Time own = clock_.now();
  return time_.follow(own + bucket_->server_offset().middle(), own);
}

Result<Swept> BucketStore::sweep(std::size_t limit) {
  const aws::Deadline until = deadline();
  return sweeper_.sweep({*bucket_, hints_, now(), until}, limit,
                        aws::Pauses(clock_, entropy_, until));
}

Result<std::vector<std::optional<Item>>> BucketStore::do_get(std::span<const Key> keys) {
  const aws::Deadline until = deadline();
  return read_items({*bucket_, hints_, now(), until, StoreOperation::get}, keys,
                    aws::Pauses(clock_, entropy_, until));
}

Result<ScanPage> BucketStore::do_scan(const ScanRequest& request) {
  const aws::Deadline until = deadline();
  return read_scan({*bucket_, hints_, now(), until, StoreOperation::scan}, request,
                   aws::Pauses(clock_, entropy_, until));
}

Result<ListPage> BucketStore::do_list(const ListRequest& request) {
  const aws::Deadline until = deadline();
  return read_list({*bucket_, hints_, now(), until, StoreOperation::list}, request,
                   aws::Pauses(clock_, entropy_, until));
}

KeyLock& BucketStore::lock_of(const Key& key) {
  const std::size_t hash = std::hash<std::string>{}(key.partition.home) ^
                           std::hash<std::string>{}(key.partition.part) ^
                           std::hash<std::int64_t>{}(key.sort);
  return key_locks_[hash % kKeyLocks];
}

Result<CommitOutcome> BucketStore::do_commit(Transaction transaction) {
  const Write::Kind kind = transaction[0].kind;
  if (kind != Write::Kind::add && kind != Write::Kind::raise) {
    return std::move(do_commit_each({&transaction, 1}).front());
  }
  KeyLock& key_lock = lock_of(transaction[0].key);
  if (!key_lock.acquire(deadline())) {
    return failure(ErrorCode::unavailable, "s3: others of this process were at it");
  }
  auto answers = do_commit_each({&transaction, 1});
  key_lock.release();
  return std::move(answers.front());
}

std::vector<Result<CommitOutcome>> BucketStore::do_commit_each(
    std::span<const Transaction> transactions) {
  const aws::Deadline until = deadline();
  const aws::Route route{
      .begin =
          [this](Transaction writes) {
            return std::make_unique<CommitAttempt>(*bucket_, hints_, entropy_, writes[0]);
          },
      .send = [this](auto requests,
                     auto end) { return bucket_->send(requests, end, StoreOperation::commit); },
      .now = [this] { return now(); }};
  return aws::commit_group(route, transactions, aws::Pauses(clock_, entropy_, until), until);
}

}  // namespace once::s3
