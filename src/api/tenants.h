// The namespaces that a server is asked for: what each may take, what it takes, and what came of
// its requests. Safe to share between threads.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "metrics/registry.h"
#include "once/error.h"
#include "wire/message.h"

namespace once::api {

// What one namespace may have and do. What is not set has no bound.
struct Quota {
  std::optional<std::uint64_t> keys;   // Items in the store, of every kind.
  std::optional<std::uint64_t> bytes;  // Of their keys and values.
  std::optional<double> requests_per_second;

  bool counts_items() const { return keys || bytes; }

  friend bool operator==(const Quota&, const Quota&) = default;
};

// By namespace. "*" is for each namespace that is not listed, and bounds requests only.
using Quotas = std::map<std::string, Quota, std::less<>>;
inline constexpr std::string_view kAnyNamespace = "*";

// What a namespace has in the store.
struct Stored {
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;

  Stored& operator+=(const Stored& more) {
    keys += more.keys;
    bytes += more.bytes;
    return *this;
  }
};
struct StoredByNamespace {
  std::map<std::string, Stored, std::less<>> by_name;
  Stored all;  // Also of namespaces that are not in `by_name`.
};

// Lets so many pass a second, and one second's worth at once. Takes no lock.
class TokenBucket {
 public:
  using Instant = std::chrono::nanoseconds;  // Since any moment, never stepping back.

  explicit TokenBucket(double per_second);

  // Nothing if one may pass now; otherwise how long until one may.
  std::optional<std::chrono::nanoseconds> take(Instant now);

 private:
  const std::int64_t period_;  // Nanoseconds for each.
  const std::int64_t burst_;
  std::atomic<std::int64_t> next_ = 0;  // When one is due, if they pass at the rate.
};

// Why a request of a namespace was refused.
enum class QuotaRefusal : std::uint8_t { requests, keys, bytes, memory };
inline constexpr std::array<std::string_view, 4> kQuotaRefusals = {"requests", "keys", "bytes",
                                                                   "memory"};

enum class TenantResult : std::uint8_t { ok, refused, failed };
inline constexpr std::array<std::string_view, 3> kTenantResults = {"ok", "refused", "failed"};

// One namespace.
class Tenant {
 public:
  Tenant(std::string name, Quota quota);

  const std::string& name() const { return name_; }
  const Quota& quota() const { return limits_.load()->quota; }

  // From the next request on. What it has made of its requests is forgotten.
  void set_quota(const Quota& quota);

  // Bytes of large bodies and of unsent answers that its requests hold now.
  std::atomic<std::size_t> bodies = 0;
  std::atomic<std::size_t> unsent = 0;

  // What it has in the store, as far as that is known. Only with a quota for it.
  std::atomic<std::uint64_t> keys = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<bool> is_counted = false;   // It was counted since the server started.
  std::atomic<bool> wants_count = false;  // It was refused: what it has is to be counted again.

  // Nothing if its requests are few enough for one more now; otherwise how long until they are.
  std::optional<std::chrono::nanoseconds> take_turn(TokenBucket::Instant now) {
    std::optional<TokenBucket>& bucket = limits_.load()->bucket;
    return bucket ? bucket->take(now) : std::nullopt;
  }

  void answered(int status);
  void refused(QuotaRefusal why) { refusals_[static_cast<std::size_t>(why)].add(); }
  std::uint64_t refusals(QuotaRefusal why) const {
    return refusals_[static_cast<std::size_t>(why)].value();
  }
  std::uint64_t results(TenantResult what) const {
    return results_[static_cast<std::size_t>(what)].value();
  }

 private:
  friend class Tenants;
  struct Limits {
    explicit Limits(const Quota& allowed) : quota(allowed) {
      if (quota.requests_per_second) bucket.emplace(*quota.requests_per_second);
    }
    const Quota quota;
    std::optional<TokenBucket> bucket;
  };
  using Counts = std::array<std::uint64_t, kTenantResults.size() + kQuotaRefusals.size()>;

  Counts counts() const;
  std::uint64_t answers() const {
    return results_[0].value() + results_[1].value() + results_[2].value();
  }

  const std::string name_;
  std::vector<std::unique_ptr<Limits>> all_limits_;  // Requests may still use earlier ones.
  std::atomic<Limits*> limits_;
  std::array<metrics::Counter, kTenantResults.size()> results_;
  std::array<metrics::Counter, kQuotaRefusals.size()> refusals_;

  // Used by Tenants alone, under its mutex.
  bool is_named_ = false;
  Counts base_{};             // What was counted before it was named, or as long as it was "other".
  std::uint64_t seen_ = 0;    // Its answers at the latest scrape.
  std::uint64_t recent_ = 0;  // Its answers of late, each scrape halving what was before.
};

class Tenants {
 public:
  // So many have a series of their own in the metrics; the others are counted as "other".
  static constexpr std::size_t kNamed = 100;
  static constexpr std::size_t kMost = 1'000;  // Known at once, without those that have a quota.

  // `registry` must outlive it.
  Tenants(Quotas quotas, metrics::Registry& registry);

  // Beyond kMost that are all in use, the rest share one.
  std::shared_ptr<Tenant> find(std::string_view name_space);

  // Of those that it knows: those that have a quota, those that had something when they were last
  // counted, and at most kMost that were asked for.
  std::set<std::string> names() const;

  // Those with a quota for what they store.
  std::vector<std::shared_ptr<Tenant>> counted() const;

  // From the next request on. Usage is to be told who is counted() then.
  void set_quotas(Quotas fresh);

  // What all namespaces had when they were last counted. For those with a quota for it, what is
  // counted for the quota is shown instead.
  void set_stored(StoredByNamespace stored);

  // The metrics of this namespace alone.
  std::string page_of(std::string_view name_space);

 private:
  using Table = std::map<std::string, std::shared_ptr<Tenant>, std::less<>>;

  void add_those_with_quotas() ONCE_REQUIRES(mutex_);
  static Quota quota_of(const Quotas& quotas, std::string_view name_space);
  std::shared_ptr<Tenant> add(std::string_view name_space) ONCE_REQUIRES(mutex_);
  bool make_room() ONCE_REQUIRES(mutex_);
  void count_as_other(Tenant& tenant) ONCE_REQUIRES(mutex_);
  void choose_named() ONCE_REQUIRES(mutex_);
  void write(metrics::Exposition& out);
  std::optional<Stored> stored_by(const Tenant& tenant, std::string_view name) const
      ONCE_REQUIRES(mutex_);

  const std::shared_ptr<Tenant> rest_;

  mutable Mutex mutex_;
  Quotas quotas_ ONCE_GUARDED_BY(mutex_);
  Table table_ ONCE_GUARDED_BY(mutex_);
  Tenant::Counts others_ ONCE_GUARDED_BY(mutex_){};
  std::size_t named_ ONCE_GUARDED_BY(mutex_) = 0;
  std::optional<StoredByNamespace> stored_ ONCE_GUARDED_BY(mutex_);

  const metrics::Registry::Collecting collecting_;  // Last: it uses all of the above.
};

// The one place that decides whether a namespace may make this request now. `adds` is whether it
// may store something new; `body` is the size of its body. Nothing if it may.
std::optional<Response> refusal_by_quota(Tenant& tenant, bool adds, std::size_t body,
                                         TokenBucket::Instant now);

}  // namespace once::api
