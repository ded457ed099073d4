#include "once/retrying_store.h"

#include <algorithm>

#include "stores/decorators/attempts.h"
#include "stores/decorators/decorator.h"

namespace once {
namespace {

using Answer = Result<CommitOutcome>;

class RetryingStore final : public Decorator<Store> {
 public:
  RetryingStore(Store& inner, RetryOptions options, Clock& clock, Entropy& entropy)
      : Decorator(inner), options_(options), clock_(clock), entropy_(entropy) {}

  Result<Swept> sweep(std::size_t limit) override {
    return insist([&] { return inner_.sweep(limit); });
  }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) override {
    return insist([&] { return inner_.get(keys); });
  }
  Result<ScanPage> do_scan(const ScanRequest& request) override {
    return insist([&] { return inner_.scan(request); });
  }
  Result<ListPage> do_list(const ListRequest& request) override {
    return insist([&] { return inner_.list(request); });
  }

  Answer do_commit(Transaction transaction) override {
    Backoff backoff = begin();
    Answer answer = inner_.commit(transaction);
    if (!is_transient(answer)) return answer;
    std::vector<Answer> answers;
    answers.push_back(std::move(answer));
    Attempts attempts(inner_, std::span(&transaction, 1), std::move(answers));
    return std::move(attempts.settle(backoff).front());
  }

  std::vector<Answer> do_commit_each(std::span<const Transaction> transactions) override {
    Backoff backoff = begin();
    std::vector<Answer> answers = inner_.commit_each(transactions);
    if (std::ranges::none_of(answers, is_transient<CommitOutcome>)) return answers;
    return Attempts(inner_, transactions, std::move(answers)).settle(backoff);
  }

 private:
  // The pauses of one call, until its deadline.
  Backoff begin() const {
    const Duration longest = std::max(options_.cap, Duration(1));
    const PauseBounds bounds{.first = std::max(options_.base, Duration(1)), .longest = longest};
    return {bounds, clock_, entropy_,
            later(clock_.now(), std::min(options_.deadline, kAttemptLife))};
  }

  // Reads change nothing, so they may be repeated at will.
  template <class Read>
  auto insist(Read read) -> decltype(read()) {
    Backoff backoff = begin();
    auto answer = read();
    while (!answer && answer.error().code == ErrorCode::unavailable && backoff.pause()) {
      answer = read();
    }
    return answer;
  }

  const RetryOptions options_;
  Clock& clock_;
  Entropy& entropy_;
};

}  // namespace

std::unique_ptr<Store> retry(Store& inner, RetryOptions options, Clock& clock, Entropy& entropy) {
  return std::make_unique<RetryingStore>(inner, options, clock, entropy);
}

}  // namespace once
