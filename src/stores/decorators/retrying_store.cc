#include "once/retrying_store.h"

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <set>
#include <span>
#include <vector>

#include "base/backoff.h"
#include "once/store.h"
#include "stores/decorators/decorator.h"
#include "stores/decorators/resolve.h"

namespace once {
namespace {

using Answer = Result<CommitOutcome>;

// Retries a group of commits until each is settled. retrying_store.h says what is sent again and
// when.
class Attempts {
 public:
  // `answers` has the answer of each transaction to the first sending.
  Attempts(Store& inner, std::span<const Transaction> transactions,
           std::vector<Result<CommitOutcome>> answers);

  // Retries until all are settled or the deadline has come.
  std::vector<Result<CommitOutcome>> settle(Backoff& backoff);

 private:
  enum class State : std::uint8_t {
    to_send,   // Not performed so far, or cleared for sending again.
    in_doubt,  // To be read back.
    settled,
  };
  struct Attempt {
    Transaction writes;
    Result<CommitOutcome> answer;  // Unless a better one comes.
    State state = State::to_send;
    bool maybe_landed = false;   // A sending was `unknown`, and so is `answer`.
    bool final_reading = false;  // Not sent again, whatever the reading says.
  };

  static void take(Attempt& attempt, Result<CommitOutcome> answer);
  static void take_lost(Attempt& attempt, Lost lost);

  void send();
  void read_back();
  static void judge(Attempt& attempt, std::span<const std::optional<Item>> found);
  void drop_overtaken();
  bool all_settled() const;

  Store& inner_;
  std::vector<Attempt> attempts_;
};

// In parts as large as the store takes.
Result<std::vector<std::optional<Item>>> get_all(Store& store, std::span<const Key> keys) {
  std::vector<std::optional<Item>> items;
  items.reserve(keys.size());
  while (!keys.empty()) {
    const std::size_t piece = std::min(keys.size(), store.limits().keys_per_get);
    auto some = store.get(keys.first(piece));
    if (!some) return some;
    std::ranges::move(*some, std::back_inserter(items));
    keys = keys.subspan(piece);
  }
  return items;
}

Attempts::Attempts(Store& inner, std::span<const Transaction> transactions,
                   std::vector<Answer> answers)
    : inner_(inner) {
  attempts_.reserve(transactions.size());
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    Attempt& attempt = attempts_.emplace_back(transactions[i]);
    take(attempt, std::move(answers[i]));
  }
}

std::vector<Answer> Attempts::settle(Backoff& backoff) {
  for (;;) {
    read_back();
    drop_overtaken();
    if (all_settled() || !backoff.pause()) break;
    send();
  }
  std::vector<Answer> answers;
  answers.reserve(attempts_.size());
  for (Attempt& attempt : attempts_) answers.push_back(std::move(attempt.answer));
  return answers;
}

void Attempts::take(Attempt& attempt, Answer answer) {
  if (answer && attempt.maybe_landed && !committed(*answer)) {
    return take_lost(attempt, std::get<Lost>(std::move(*answer)));
  }
  if (answer || !attempt.maybe_landed) {
    attempt.state = !is_transient(answer) ? State::settled : State::to_send;
    attempt.maybe_landed = !answer && answer.error().code == ErrorCode::unknown;
    if (attempt.maybe_landed) attempt.state = State::in_doubt;
    attempt.answer = std::move(answer);
    return;
  }
  // An earlier sending may have landed, so this error is not the answer.
  attempt.state = State::in_doubt;
  attempt.final_reading = !is_transient(answer);
}

// The second sending lost: to the first one, which landed late, or to another writer.
void Attempts::take_lost(Attempt& attempt, Lost lost) {
  std::vector<std::optional<Item>> current(attempt.writes.size());
  current[lost.write] = std::move(lost.current);
  attempt.final_reading = true;
  attempt.state = State::in_doubt;
  const Resolution resolution = resolve(attempt.writes, current);
  if (std::holds_alternative<StillUnknown>(resolution)) return;
  judge(attempt, current);
}

void Attempts::send() {
  std::vector<Attempt*> sending;
  std::vector<Transaction> transactions;
  for (Attempt& attempt : attempts_) {
    if (attempt.state != State::to_send) continue;
    sending.push_back(&attempt);
    transactions.push_back(attempt.writes);
  }
  if (sending.empty()) return;
  if (sending.size() == 1) return take(*sending[0], inner_.commit(transactions[0]));
  std::vector<Answer> answers = inner_.commit_each(transactions);
  for (std::size_t i = 0; i < sending.size(); ++i) take(*sending[i], std::move(answers[i]));
}

void Attempts::read_back() {
  std::vector<Key> keys;
  for (const Attempt& attempt : attempts_) {
    if (attempt.state != State::in_doubt) continue;
    for (const Write& write : attempt.writes) keys.push_back(write.key);
  }
  if (keys.empty()) return;
  const auto found = get_all(inner_, keys);
  if (!found && found.error().code == ErrorCode::unavailable) return;
  std::size_t at = 0;
  for (Attempt& attempt : attempts_) {
    if (attempt.state != State::in_doubt) continue;
    attempt.state = State::settled;
    if (!found) continue;
    judge(attempt, std::span(*found).subspan(at, attempt.writes.size()));
    at += attempt.writes.size();
  }
}

void Attempts::judge(Attempt& attempt, std::span<const std::optional<Item>> found) {
  Resolution resolution = resolve(attempt.writes, found);
  attempt.state = State::settled;
  if (auto* applied = std::get_if<Committed>(&resolution)) {
    attempt.answer = std::move(*applied);
  } else if (auto* lost = std::get_if<Lost>(&resolution)) {
    attempt.answer = std::move(*lost);
  } else if (!attempt.final_reading && may_send_again(attempt.writes)) {
    attempt.state = State::to_send;
  }
}

// From the last to the first, since only what comes later in the group can overtake.
void Attempts::drop_overtaken() {
  const auto by_value = [](const Key* a, const Key* b) { return *a < *b; };
  std::set<const Key*, decltype(by_value)> decided(by_value);
  for (Attempt& attempt : attempts_ | std::views::reverse) {
    const auto is_decided = [&](const Write& write) { return decided.contains(&write.key); };
    if (attempt.state == State::to_send && std::ranges::any_of(attempt.writes, is_decided)) {
      attempt.state = State::settled;
    }
    const bool never_performed =
        !attempt.answer && attempt.answer.error().code == ErrorCode::unavailable;
    if (never_performed) continue;
    for (const Write& write : attempt.writes) decided.insert(&write.key);
  }
}

bool Attempts::all_settled() const {
  return std::ranges::all_of(
      attempts_, [](const Attempt& attempt) { return attempt.state == State::settled; });
}

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
