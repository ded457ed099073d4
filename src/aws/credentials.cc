#include "aws/credentials.h"

#include <algorithm>
#include <condition_variable>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace once::aws {
namespace {

class FixedCredentials final : public Credentials {
 public:
  explicit FixedCredentials(Keys keys) : keys_(std::move(keys)) {}

  Result<Keys> keys(Deadline /*deadline*/) override { return keys_; }

 private:
  const Keys keys_;
};

constexpr Duration kEarly = std::chrono::minutes(5);
constexpr Duration kBetweenFetches = std::chrono::seconds(1);

class RefreshingCredentials final : public Credentials {
 public:
  RefreshingCredentials(FetchKeys fetch, Clock& clock) : fetch_(std::move(fetch)), clock_(clock) {}

  Result<Keys> keys(Deadline deadline) override {
    Lock lock(mutex_);
    while (clock_.now() >= due_) {
      if (!fetching_) {
        fetch(lock, deadline);
        break;
      }
      if (good()) break;
      if (fetched_.wait_until(lock.native(), deadline) == std::cv_status::timeout) {
        return failure(ErrorCode::unavailable, "the keys did not come before the deadline");
      }
    }
    if (good() || (keys_ && !error_)) return *keys_;
    if (error_) return std::unexpected(*error_);
    return failure(ErrorCode::unavailable, "there are no keys");
  }

  // Unless they were just fetched: the source would give the same ones again.
  void refused(const Keys& keys) override {
    const Lock lock(mutex_);
    if (!fetching_ && keys_ == keys && clock_.now() >= later(came_, kBetweenFetches)) {
      due_ = clock_.now();
    }
  }

 private:
  bool good() const ONCE_REQUIRES(mutex_) { return keys_ && clock_.now() < keys_->expires; }

  void fetch(Lock& lock, Deadline deadline) ONCE_REQUIRES(mutex_) {
    fetching_ = true;
    lock.native().unlock();
    Result<Keys> keys = fetch_(deadline);
    lock.native().lock();
    fetching_ = false;
    const Time now = clock_.now();
    due_ = later(now, kBetweenFetches);
    error_.reset();
    if (keys) {
      came_ = now;
      keys_ = std::move(*keys);
      // Keys that look expired are tried: our clock may be wrong.
      if (keys_->expires == kNever) {
        due_ = kNever;
      } else {
        due_ = std::max(due_, keys_->expires - std::min(kEarly, (keys_->expires - now) / 4));
      }
    } else {
      error_ = std::move(keys.error());
    }
    fetched_.notify_all();
  }

  const FetchKeys fetch_;
  Clock& clock_;
  std::condition_variable fetched_;

  Mutex mutex_;
  bool fetching_ ONCE_GUARDED_BY(mutex_) = false;
  Time due_ ONCE_GUARDED_BY(mutex_) = Time::min();  // Of the next fetch.
  Time came_ ONCE_GUARDED_BY(mutex_) = Time::min();
  std::optional<Keys> keys_ ONCE_GUARDED_BY(mutex_);
  std::optional<Error> error_ ONCE_GUARDED_BY(mutex_);  // Of the last fetch.
};

}  // namespace

std::shared_ptr<Credentials> fixed_credentials(Keys keys) {
  return std::make_shared<FixedCredentials>(std::move(keys));
}

std::shared_ptr<Credentials> refreshing_credentials(FetchKeys fetch, Clock& clock) {
  return std::make_shared<RefreshingCredentials>(std::move(fetch), clock);
}

}  // namespace once::aws
