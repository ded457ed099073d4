#include "once/faulty_store.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/mutex.h"
#include "once/entropy.h"
#include "stores/decorators/decorator.h"

namespace once {
namespace {

using Answer = Result<CommitOutcome>;

std::unexpected<Error> injected_before() {
  return failure(ErrorCode::unavailable, "injected: failed before it was performed");
}
std::unexpected<Error> injected_unknown() {
  return failure(ErrorCode::unknown, "injected: the outcome is not known");
}
std::unexpected<Error> injected_read_failure() {
  return failure(ErrorCode::unavailable, "injected: the reply was lost");
}

class FaultInjector final : public Decorator<FaultyStore> {
 public:
  FaultInjector(Store& inner, FaultPlan plan, Clock& clock)
      : Decorator(inner), plan_(plan), clock_(clock), entropy_(plan.seed) {}

  void script(std::span<const Fault> next) override {
    const Lock lock(mutex_);
    script_.assign(next.begin(), next.end());
  }

  void deliver_late() override {
    std::vector<Late> all;
    {
      const Lock lock(mutex_);
      all = std::exchange(late_, {});
    }
    land(all);
  }

  FaultCounts counts() const override {
    const Lock lock(mutex_);
    FaultCounts counts = counts_;
    counts.under_way = late_.size();
    return counts;
  }

  Result<Swept> sweep(std::size_t limit) override {
    return read([&] { return inner_.sweep(limit); });
  }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    return read([&] { return inner_.get(keys); });
  }
  Result<ScanPage> do_scan(const ScanRequest& request) override {
    return read([&] { return inner_.scan(request); });
  }
  Result<ListPage> do_list(const ListRequest& request) override {
    return read([&] { return inner_.list(request); });
  }

  Answer do_commit(Transaction transaction) override {
    const Call call = next_call();
    land(call.landing);
    if (call.fault == Fault::none) return inner_.commit(transaction);
    return commit_with(call.fault, transaction);
  }

  // Transactions without a fault stay together in groups, as far as the faults between them and
  // what lands between them allow.
  std::vector<Answer> do_commit_each(std::span<const Transaction> transactions) override {
    if (plan_.scope == FaultPlan::Scope::group) return commit_group(transactions);
    std::vector<Answer> answers;
    answers.reserve(transactions.size());
    const auto flush_before = [&](std::size_t end) {
      const std::size_t begin = answers.size();
      if (begin == end) return;
      std::ranges::move(inner_.commit_each(transactions.subspan(begin, end - begin)),
                        std::back_inserter(answers));
    };
    for (std::size_t i = 0; i < transactions.size(); ++i) {
      const Call call = next_call();
      if (call.fault == Fault::none && call.landing.empty()) continue;
      flush_before(i);
      land(call.landing);
      if (call.fault != Fault::none) answers.push_back(commit_with(call.fault, transactions[i]));
    }
    flush_before(transactions.size());
    return answers;
  }

 private:
  struct Late {
    std::vector<Write> writes;  // A copy: the caller's are gone when this lands.
    std::uint64_t due;          // Before the call of this number.
  };
  struct Call {
    Fault fault;
    std::vector<Late> landing;
  };

  Call next_call() {
    const Lock lock(mutex_);
    Call call{draw(), {}};
    ++counts_.calls;
    if (call.fault != Fault::none) ++counts_.injected;
    const auto is_due = [now = counts_.calls](const Late& late) { return late.due <= now; };
    std::ranges::copy_if(late_, std::back_inserter(call.landing), is_due);
    std::erase_if(late_, is_due);
    return call;
  }

  Fault draw() ONCE_REQUIRES(mutex_) {
    if (!script_.empty()) {
      const Fault next = script_.front();
      script_.pop_front();
      return next;
    }
    double left = static_cast<double>(entropy_.random() >> 11) * 0x1p-53;
    for (const auto& [chance, fault] :
         {std::pair{plan_.fail_before, Fault::fail_before},
          std::pair{plan_.fail_after, Fault::fail_after}, std::pair{plan_.delay, Fault::delay},
          std::pair{plan_.lose_reply, Fault::lose_reply},
          std::pair{plan_.land_late, Fault::land_late}}) {
      if (left < chance) return fault;
      left -= chance;
    }
    return Fault::none;
  }

  template <class Perform>
  auto read(Perform perform) -> decltype(perform()) {
    const Call call = next_call();
    land(call.landing);
    switch (call.fault) {
      case Fault::none: return perform();
      case Fault::fail_before:
      case Fault::land_late: return injected_before();
      case Fault::delay: clock_.sleep(entropy_.random_below(plan_.longest_delay)); return perform();
      case Fault::lose_reply: clock_.sleep(plan_.timeout); [[fallthrough]];
      case Fault::fail_after: perform(); return injected_read_failure();
    }
    return perform();
  }

  Answer commit_with(Fault fault, Transaction transaction) {
    switch (fault) {
      case Fault::none: break;
      case Fault::fail_before: return injected_before();
      case Fault::fail_after: inner_.commit(transaction); return injected_unknown();
      case Fault::delay: clock_.sleep(entropy_.random_below(plan_.longest_delay)); break;
      case Fault::lose_reply:
        inner_.commit(transaction);
        clock_.sleep(plan_.timeout);
        return injected_unknown();
      case Fault::land_late: send_late(transaction); return injected_unknown();
    }
    return inner_.commit(transaction);
  }

  std::vector<Answer> commit_group(std::span<const Transaction> transactions) {
    const Call call = next_call();
    land(call.landing);
    if (call.fault == Fault::delay) clock_.sleep(entropy_.random_below(plan_.longest_delay));
    if (call.fault == Fault::none || call.fault == Fault::delay) {
      return inner_.commit_each(transactions);
    }
    const Answer answer = call.fault == Fault::fail_before ? injected_before() : injected_unknown();
    if (call.fault == Fault::land_late)
      std::ranges::for_each(transactions, [&](Transaction one) { send_late(one); });
    if (call.fault == Fault::fail_after || call.fault == Fault::lose_reply)
      inner_.commit_each(transactions);
    if (call.fault == Fault::lose_reply) clock_.sleep(plan_.timeout);
    return std::vector<Answer>(transactions.size(), answer);
  }

  void send_late(Transaction transaction) {
    const Lock lock(mutex_);
    const std::uint64_t span = std::max<std::uint64_t>(1, plan_.latest_landing);
    late_.push_back(
        {{transaction.begin(), transaction.end()}, counts_.calls + 1 + entropy_.random() % span});
  }

  // Outside the lock: the inner store may block.
  void land(const std::vector<Late>& landing) {
    for (const Late& late : landing) inner_.commit(late.writes);
    if (landing.empty()) return;
    const Lock lock(mutex_);
    counts_.landed += landing.size();
  }

  const FaultPlan plan_;
  Clock& clock_;
  Entropy entropy_;

  mutable Mutex mutex_;
  std::deque<Fault> script_ ONCE_GUARDED_BY(mutex_);
  std::vector<Late> late_ ONCE_GUARDED_BY(mutex_);
  FaultCounts counts_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<FaultyStore> inject_faults(Store& inner, FaultPlan plan, Clock& clock) {
  return std::make_unique<FaultInjector>(inner, plan, clock);
}

}  // namespace once
