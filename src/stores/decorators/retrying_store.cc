#include "once/retrying_store.h"

#include <algorithm>

#include "stores/decorators/attempts.h"
#include "stores/decorators/backoff.h"
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
    Backoff backoff(options_, clock_, entropy_);
    Answer answer = inner_.commit(transaction);
    if (!is_open(answer)) return answer;
    std::vector<Answer> answers;
    answers.push_back(std::move(answer));
    Attempts attempts(inner_, std::span(&transaction, 1), std::move(answers));
    return std::move(attempts.settle(backoff).front());
  }

  std::vector<Answer> do_commit_each(std::span<const Transaction> transactions) override {
    Backoff backoff(options_, clock_, entropy_);
    std::vector<Answer> answers = inner_.commit_each(transactions);
    if (std::ranges::none_of(answers, is_open)) return answers;
    return Attempts(inner_, transactions, std::move(answers)).settle(backoff);
  }

 private:
  // Reads change nothing, so they may be repeated at will.
  template <class Read>
  auto insist(Read read) -> decltype(read()) {
    Backoff backoff(options_, clock_, entropy_);
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
