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

bool is_open(const Result<CommitOutcome>& answer) {
  if (answer) return false;
  return answer.error().code == ErrorCode::unavailable || answer.error().code == ErrorCode::unknown;
}

// So many are begun together; whether there is time for the next is looked at in between.
constexpr std::size_t kPiece = 256;

// When a call ends, and from when on no further piece is begun: what is under way at the end is
// unknown.
struct Span {
  Deadline last_piece;
  Deadline end;
};

// Sends each its next request. False if there was no time for all.
bool send_each(const Route& route, std::span<Flight* const> flights, const Span& span) {
  const Time now = route.now();
  for (Deadline last = span.end; !flights.empty(); last = span.last_piece) {
    if (std::chrono::steady_clock::now() >= last) return false;
    const auto piece = flights.first(std::min(kPiece, flights.size()));
    std::vector<Request> requests;
    requests.reserve(piece.size());
    for (Flight* flight : piece) requests.push_back(flight->next(now));
    std::vector<Result<Response>> responses = route.send(requests, span.end);
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i]->take(std::move(responses[i]));
    flights = flights.subspan(piece.size());
  }
  return true;
}

// All of them until each is decided, or there is no time left.
void fly(const Route& route, std::span<const std::unique_ptr<Flight>> flights, Pauses& pauses,
         const Span& span) {
  for (;;) {
    std::vector<Flight*> under_way;
    bool wants_pause = false;
    for (const std::unique_ptr<Flight>& flight : flights) {
      if (flight->decided()) continue;
      wants_pause |= flight->wants_pause();
      under_way.push_back(flight.get());
    }
    if (under_way.empty() || (wants_pause && !pauses.pause())) return;
    if (!send_each(route, under_way, span)) return;
  }
}

}  // namespace

std::vector<std::size_t> waves_of(std::span<const Transaction> transactions) {
  std::map<const Key*, std::size_t, ByValue> next;  // The first wave that is free of the key.
  std::vector<std::size_t> waves;
  waves.reserve(transactions.size());
  for (const Transaction& transaction : transactions) {
    std::size_t wave = 0;
    for (const Write& write : transaction) wave = std::max(wave, next[&write.key]);
    for (const Write& write : transaction) next[&write.key] = wave + 1;
    waves.push_back(wave);
  }
  return waves;
}

Answers commit_group(const Route& route, std::span<const Transaction> transactions, Pauses pauses,
                     Deadline deadline) {
  Answers answers(transactions.size(), failure(ErrorCode::unavailable, "an earlier one is open"));
  const auto begun = std::chrono::steady_clock::now();
  const Span span{begun + (deadline - begun) / 2, deadline};
  const std::vector<std::size_t> waves = waves_of(transactions);
  const std::size_t count = *std::ranges::max_element(waves) + 1;
  std::map<const Key*, bool, ByValue> open;
  for (std::size_t wave = 0; wave < count; ++wave) {
    std::vector<std::size_t> members;
    std::vector<std::unique_ptr<Flight>> flights;
    for (std::size_t i = 0; i < transactions.size(); ++i) {
      if (waves[i] != wave) continue;
      const auto is_blocked = [&](const Write& write) { return open.contains(&write.key); };
      if (std::ranges::any_of(transactions[i], is_blocked)) {
        for (const Write& write : transactions[i]) open[&write.key] = true;
        continue;
      }
      members.push_back(i);
      flights.push_back(route.begin(transactions[i]));
    }
    fly(route, flights, pauses, span);
    for (std::size_t at = 0; at < members.size(); ++at) {
      const std::size_t i = members[at];
      answers[i] = flights[at]->answer();
      if (!is_open(answers[i])) continue;
      for (const Write& write : transactions[i]) open[&write.key] = true;
    }
  }
  return answers;
}

}  // namespace once::aws
