#include "aws/group.h"

#include <algorithm>
#include <map>
#include <utility>

namespace once::aws {
namespace {

using Answers = std::vector<Result<CommitOutcome>>;

struct ByValue {
  bool operator()(const Key* a, const Key* b) const { return *a < *b; }
};

// So many are begun together; whether there is time for the next is looked at in between.
constexpr std::size_t kPiece = 256;

// When a call ends, and from when on no further piece is begun: what is under way at the end is
// unknown.
struct Span {
  Deadline last_piece;
  Deadline end;
};

// Sends each its next request. False if there was no time for all.
bool send_each(const Route& route, std::span<CommitAttempt* const> attempts, const Span& span) {
  const Time now = route.now();
  for (Deadline last = span.end; !attempts.empty(); last = span.last_piece) {
    if (std::chrono::steady_clock::now() >= last) return false;
    const auto piece = attempts.first(std::min(kPiece, attempts.size()));
    std::vector<Request> requests;
    requests.reserve(piece.size());
    for (CommitAttempt* attempt : piece) requests.push_back(attempt->next(now));
    std::vector<Result<Response>> responses = route.send(requests, span.end);
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i]->take(std::move(responses[i]));
    attempts = attempts.subspan(piece.size());
  }
  return true;
}

// All of them until each is decided, or there is no time left.
void send_until_decided(const Route& route,
                        std::span<const std::unique_ptr<CommitAttempt>> attempts, Pauses& pauses,
                        const Span& span) {
  for (;;) {
    std::vector<CommitAttempt*> under_way;
    bool wants_pause = false;
    for (const std::unique_ptr<CommitAttempt>& attempt : attempts) {
      if (attempt->decided()) continue;
      wants_pause |= attempt->wants_pause();
      under_way.push_back(attempt.get());
    }
    if (under_way.empty() || (wants_pause && !pauses.pause())) return;
    if (!send_each(route, under_way, span)) return;
  }
}

}  // namespace

std::vector<std::size_t> key_disjoint_batches(std::span<const Transaction> transactions) {
  std::map<const Key*, std::size_t, ByValue> next;  // The first batch that is free of the key.
  std::vector<std::size_t> batches;
  batches.reserve(transactions.size());
  for (const Transaction& transaction : transactions) {
    std::size_t batch = 0;
    for (const Write& write : transaction) batch = std::max(batch, next[&write.key]);
    for (const Write& write : transaction) next[&write.key] = batch + 1;
    batches.push_back(batch);
  }
  return batches;
}

Answers commit_group(const Route& route, std::span<const Transaction> transactions, Pauses pauses,
                     Deadline deadline) {
  Answers answers(transactions.size(), failure(ErrorCode::unavailable, "an earlier one is open"));
  const auto begun = std::chrono::steady_clock::now();
  const Span span{begun + (deadline - begun) / 2, deadline};
  const std::vector<std::size_t> batches = key_disjoint_batches(transactions);
  const std::size_t count = *std::ranges::max_element(batches) + 1;
  std::map<const Key*, bool, ByValue> open;
  for (std::size_t batch = 0; batch < count; ++batch) {
    std::vector<std::size_t> members;
    std::vector<std::unique_ptr<CommitAttempt>> attempts;
    for (std::size_t i = 0; i < transactions.size(); ++i) {
      if (batches[i] != batch) continue;
      const auto is_blocked = [&](const Write& write) { return open.contains(&write.key); };
      if (std::ranges::any_of(transactions[i], is_blocked)) {
        for (const Write& write : transactions[i]) open[&write.key] = true;
        continue;
      }
      members.push_back(i);
      attempts.push_back(route.begin(transactions[i]));
    }
    send_until_decided(route, attempts, pauses, span);
    for (std::size_t at = 0; at < members.size(); ++at) {
      const std::size_t i = members[at];
      answers[i] = attempts[at]->answer();
      if (!is_transient(answers[i])) continue;
      for (const Write& write : transactions[i]) open[&write.key] = true;
    }
  }
  return answers;
}

}  // namespace once::aws
