// The store itself, one attempt a call; open_s3() puts retries before it.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "aws/pause.h"
#include "base/server_time.h"
#include "once/s3_store.h"
#include "stores/s3/bucket.h"
#include "stores/s3/hints.h"
#include "stores/s3/key_lock.h"
#include "stores/s3/reader.h"
#include "stores/s3/sweeper.h"

namespace once::s3 {

// Not final: tests have one whose time is theirs.
class BucketStore : public S3Store {
 public:
  // `clock` and `entropy` must outlive it. No call takes longer than `patience`.
  BucketStore(std::unique_ptr<Bucket> bucket, Duration patience, Clock& clock, Entropy& entropy);

  const Limits& limits() const override;
  std::string describe() const override;
  Time now() override;
  Result<Swept> sweep(std::size_t limit) override;
  S3Counts counts() const override { return bucket_->counts(); }
  StoreUnits units() const override { return bucket_->units(); }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override;
  Result<ScanPage> do_scan(const ScanRequest& request) override;
  Result<ListPage> do_list(const ListRequest& request) override;
  Result<CommitOutcome> do_commit(Transaction transaction) override;
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override;

 private:
  static constexpr std::size_t kKeyLocks = 64;

  aws::Deadline deadline() const { return std::chrono::steady_clock::now() + patience_; }
  KeyLock& lock_of(const Key& key);

  const std::unique_ptr<Bucket> bucket_;
  const Duration patience_;
  Clock& clock_;
  Entropy& entropy_;
  Hints hints_;
  Sweeper sweeper_;
  // Adds and raises of this process to one key go one after the other: S3 has none, so they would
  // only refuse each other.
  std::array<KeyLock, kKeyLocks> key_locks_;
  ForwardTime time_;
};

}  // namespace once::s3
