#include "once/marked_store.h"

#include <atomic>
#include <utility>

#include "base/mutex.h"
#include "base/periodic.h"
#include "stores/decorators/decorator.h"

namespace once {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);

// Nobody has looked for so long only if this process was stopped, or the machine slept.
constexpr Duration kStale = std::chrono::seconds(3);

class Marked final : public Decorator<MarkedStore> {
 public:
  Marked(std::unique_ptr<Store> inner, StoreMark mark, std::optional<Version> found, Clock& clock,
         Entropy& entropy)
      : Decorator(*inner),
        owned_(std::move(inner)),
        mark_(std::move(mark)),
        clock_(clock),
        entropy_(entropy),
        version_(found.value_or(Version{})),
        state_(found ? State::same : State::unmarked),
        looked_(clock.now()),
        looking_(clock, kLookEvery, [this] {
          look();
          return false;
        }) {}

  Store& unmarked() override { return *owned_; }

  Result<void> put_mark() override {
    const Lock lock(marking_);
    if (state_ != State::unmarked) return check_same();
    Write write = put(mark_.key, mark_.value, absent_lasting());
    write.version = entropy_.version();
    const Result<CommitOutcome> outcome = inner_.commit({&write, 1});
    if (!outcome && outcome.error().code != ErrorCode::unknown) {
      return std::unexpected(outcome.error());
    }
    const auto found = inner_.get(mark_.key);  // Ours, or that of a process that was faster.
    if (!found) return std::unexpected(found.error());
    if (!*found) return failure(ErrorCode::unavailable, "the store's birth mark cannot be put");
    version_ = (*found)->version;
    state_ = State::same;
    return {};
  }

  void look() override {
    began_ = clock_.now();
    if (state_ == State::same && !is_same()) tell();
    looked_ = clock_.now();
  }

  Result<void> check_same() const override {
    switch (state_.load()) {
      case State::unmarked:
      case State::same: return {};
      case State::nothing:
        return failure(ErrorCode::unavailable,
                       "the store was emptied since this process opened it: its birth mark is "
                       "gone; restart to use it as it is now");
      case State::another: break;
    }
    return failure(ErrorCode::unavailable,
                   "this is not the store that was opened: it has another birth mark; "
                   "restart to use it as it is now");
  }

  void on_replaced(std::function<void(const Error&)> tell) override {
    const Lock lock(telling_);
    tell_ = std::move(tell);
    tell_if_replaced();
  }

 protected:
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    if (Result<void> same = before_commit(); !same) return std::unexpected(std::move(same.error()));
    return inner_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    if (const Result<void> same = before_commit(); !same) {
      return std::vector<Result<CommitOutcome>>(transactions.size(), std::unexpected(same.error()));
    }
    return inner_.commit_each(transactions);
  }

 private:
  // Once it is neither of the first two, it stays so.
  enum class State : std::uint8_t { unmarked, same, nothing, another };

  // Does not wait for a look that hangs: the mark's server may hang alone (docs/hazards.md#h37).
  Result<void> before_commit() {
    if (state_ == State::unmarked) return put_mark();
    const Time now = clock_.now();
    const Time looked = looked_;
    const Time began = began_;
    const bool hangs = began > looked && now - began > kLookEvery;
    if (now - looked > kStale && !hangs) look();
    return check_same();
  }

  bool is_same() {
    const Result<std::optional<Item>> found = inner_.get(mark_.key);
    if (!found || (*found && (*found)->version == version_)) return true;
    state_ = *found ? State::another : State::nothing;
    return false;
  }

  void tell() {
    const Lock lock(telling_);
    tell_if_replaced();
  }

  void tell_if_replaced() ONCE_REQUIRES(telling_) {
    const Result<void> same = check_same();
    if (same || !tell_) return;
    std::exchange(tell_, nullptr)(same.error());
  }

  // Constant after construction.
  const std::unique_ptr<Store> owned_;
  const StoreMark mark_;
  Clock& clock_;
  Entropy& entropy_;

  Mutex marking_;
  Version version_;  // The mark's. Written once, before `state_` becomes `same`.
  std::atomic<State> state_;
  std::atomic<Time> began_ = Time();  // Of the last look,
  std::atomic<Time> looked_;          // and its end.
  Mutex telling_;
  std::function<void(const Error&)> tell_ ONCE_GUARDED_BY(telling_);
  Periodic looking_;  // Last: it uses all of the above.
};

}  // namespace

Result<std::unique_ptr<MarkedStore>> mark(std::unique_ptr<Store> inner, StoreMark mark,
                                          Clock& clock, Entropy& entropy) {
  const Result<std::optional<Item>> found = inner->get(mark.key);
  if (!found) return std::unexpected(found.error());
  const std::optional<Version> version =
      *found ? std::optional((*found)->version) : std::optional<Version>();
  return std::make_unique<Marked>(std::move(inner), std::move(mark), version, clock, entropy);
}

}  // namespace once
