// What namespaces with a quota have in the store: counted from time to time, and between two counts
// kept up with what this server writes. docs/operations.md says how exact that is.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/tenants.h"
#include "base/mutex.h"
#include "base/periodic.h"
#include "once/store.h"
#include "stores/decorators/decorator.h"

namespace once::api {

// Safe to share between threads.
class Usage {
 public:
  explicit Usage(const std::vector<std::shared_ptr<Tenant>>& tenants) { set_tenants(tenants); }

  // From now on it is about these. What is known of others is forgotten.
  void set_tenants(const std::vector<std::shared_ptr<Tenant>>& tenants);

  // These writes were made.
  void wrote(Transaction transaction);

  // What is counted from now on is not yet known to be in the store: call it before a count begins.
  void begin_count(const std::string& name_space);
  struct Found {
    std::uint64_t keys = 0;
    std::uint64_t bytes = 0;
  };
  void end_count(const std::string& name_space, Found found);

  static std::uint64_t bytes_of(const Key& key, const Value& value);

 private:
  // Of one namespace.
  struct Counting {
    std::shared_ptr<Tenant> tenant;
    std::int64_t keys = 0;  // As far as known.
    std::int64_t bytes = 0;
    std::int64_t keys_since = 0;  // Of these, since the count that is under way began.
    std::int64_t bytes_since = 0;
    std::unordered_map<std::size_t, std::int64_t> sizes;  // Of items that this server wrote.
  };

  void note(Counting& counting, const Write& write) ONCE_REQUIRES(mutex_);
  static void add(Counting& counting, std::int64_t keys, std::int64_t bytes);

  std::atomic<bool> is_about_any_ = false;
  Mutex mutex_;
  std::map<std::string, Counting, std::less<>> countings_ ONCE_GUARDED_BY(mutex_);
};

// Tells Usage of every write that was made.
class UsageStore final : public Decorator<Store> {
 public:
  UsageStore(Store& inner, Usage& usage) : Decorator(inner), usage_(usage) {}

 protected:
  Result<CommitOutcome> do_commit(Transaction transaction) override;
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override;

 private:
  Usage& usage_;
};

// Counts again and again, a little at a time.
class UsageCount {
 public:
  // All must outlive it. The first count begins at once, and each later one `every` after the end
  // of the one before; earlier if a namespace was refused for what it has.
  UsageCount(Store& store, Usage& usage, const std::vector<std::shared_ptr<Tenant>>& tenants,
             Clock& clock, Duration every);

  // These are counted as soon as the round that is under way has ended.
  void set_tenants(std::vector<std::shared_ptr<Tenant>> tenants);

  std::uint64_t rounds() const { return rounds_; }

 private:
  bool go_on();
  bool is_due();
  bool take_next_tenants();
  bool count_page();

  Store& store_;
  Usage& usage_;
  Clock& clock_;
  const Duration every_;

  Mutex mutex_;
  std::optional<std::vector<std::shared_ptr<Tenant>>> next_tenants_ ONCE_GUARDED_BY(mutex_);

  // Used only by the thread of `counting_`.
  std::vector<std::shared_ptr<Tenant>> tenants_;
  bool under_way_ = false;
  Time began_;
  Time ended_;
  Duration took_{};
  std::size_t tenant_ = 0;
  std::size_t prefix_ = 0;
  std::string cursor_;
  Usage::Found found_;

  std::atomic<std::uint64_t> rounds_ = 0;
  const Periodic counting_;  // Last: it uses all of the above.
};

}  // namespace once::api
