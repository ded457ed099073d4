#include "once/metered_store.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "stores/decorators/decorator.h"

namespace once {
namespace {

using Answer = Result<CommitOutcome>;
using std::chrono::nanoseconds;

class Count {
 public:
  void add(std::uint64_t amount) { count_.fetch_add(amount, std::memory_order_relaxed); }
  std::uint64_t get() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_ = 0;
};

std::size_t bucket_of(nanoseconds length) {
  const double seconds = std::chrono::duration<double>(length).count();
  return static_cast<std::size_t>(std::ranges::lower_bound(kLatencyBounds, seconds) -
                                  kLatencyBounds.begin());
}

// Each operation has a cache line of its own, so that readers and writers do not slow each other.
class alignas(64) Meter {
 public:
  void called(nanoseconds length, std::size_t parts) {
    calls_.add(1);
    parts_.add(parts);
    buckets_[bucket_of(length)].add(1);
    nanoseconds_.add(static_cast<std::uint64_t>(std::max(length, nanoseconds(0)).count()));
  }
  void failed(const Error& error) { errors_[static_cast<std::size_t>(error.code)].add(1); }
  void answered(const Answer& answer) {
    if (!answer) return failed(answer.error());
    (committed(*answer) ? committed_ : lost_).add(1);
  }

  OperationMetrics snapshot() const {
    OperationMetrics metrics{.calls = calls_.get(),
                             .parts = parts_.get(),
                             .committed = committed_.get(),
                             .lost = lost_.get()};
    for (std::size_t i = 0; i < errors_.size(); ++i) metrics.errors[i] = errors_[i].get();
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      metrics.latency.buckets[i] = buckets_[i].get();
    }
    metrics.latency.total = nanoseconds(static_cast<std::int64_t>(nanoseconds_.get()));
    return metrics;
  }

 private:
  Count calls_, parts_, committed_, lost_, nanoseconds_;
  std::array<Count, kErrorCodes> errors_;
  std::array<Count, kLatencyBounds.size() + 1> buckets_;
};

class Metering final : public Decorator<MeteredStore> {
 public:
  Metering(Store& inner, Stopwatch stopwatch)
      : Decorator(inner), stopwatch_(std::move(stopwatch)) {}

  StoreMetrics snapshot() const override {
    return {get_.snapshot(),    scan_.snapshot(),        list_.snapshot(),
            commit_.snapshot(), commit_each_.snapshot(), inner_.units()};
  }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    return read(get_, [&] { return inner_.get(keys); }, [&](const auto&) { return keys.size(); });
  }
  Result<ScanPage> do_scan(const ScanRequest& request) override {
    return read(
        scan_, [&] { return inner_.scan(request); },
        [](const auto& page) { return page ? page->entries.size() : 0; });
  }
  Result<ListPage> do_list(const ListRequest& request) override {
    return read(
        list_, [&] { return inner_.list(request); },
        [](const auto& page) { return page ? page->items.size() : 0; });
  }

  Answer do_commit(Transaction transaction) override {
    const nanoseconds start = stopwatch_();
    Answer answer = inner_.commit(transaction);
    commit_.called(stopwatch_() - start, transaction.size());
    commit_.answered(answer);
    return answer;
  }

  std::vector<Answer> do_commit_each(std::span<const Transaction> transactions) override {
    const nanoseconds start = stopwatch_();
    std::vector<Answer> answers = inner_.commit_each(transactions);
    const nanoseconds length = stopwatch_() - start;
    std::size_t writes = 0;
    for (const Transaction& transaction : transactions) writes += transaction.size();
    commit_each_.called(length, writes);
    for (const Answer& answer : answers) commit_each_.answered(answer);
    return answers;
  }

 private:
  template <class Perform, class Parts>
  auto read(Meter& meter, Perform perform, Parts parts) -> decltype(perform()) {
    const nanoseconds start = stopwatch_();
    auto answer = perform();
    meter.called(stopwatch_() - start, parts(answer));
    if (!answer) meter.failed(answer.error());
    return answer;
  }

  const Stopwatch stopwatch_;
  Meter get_, scan_, list_, commit_, commit_each_;
};

}  // namespace

std::chrono::nanoseconds steady_time() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::unique_ptr<MeteredStore> meter(Store& inner, Stopwatch stopwatch) {
  return std::make_unique<Metering>(inner, std::move(stopwatch));
}

}  // namespace once
