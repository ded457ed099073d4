#include "stores/dynamodb/group.h"

#include <algorithm>
#include <map>
#include <utility>

#include "stores/dynamodb/flight.h"

namespace once::dynamodb {
namespace {

using Answers = std::vector<Result<CommitOutcome>>;

struct ByValue {
  bool operator()(const Key* a, const Key* b) const { return *a < *b; }
};

bool is_open(const Result<CommitOutcome>& answer) {
  if (answer) return false;
  return answer.error().code == ErrorCode::unavailable || answer.error().code == ErrorCode::unknown;
}

// All of them until each is decided, or the deadline has come.
void fly(const Route& route, std::vector<Flight>& flights, Pauses& pauses, aws::Deadline deadline) {
  for (;;) {
    std::vector<Flight*> under_way;
    std::vector<aws::Request> requests;
    const Time now = route.now();
    bool wants_pause = false;
    for (Flight& flight : flights) {
      if (flight.decided()) continue;
      wants_pause |= flight.wants_pause();
      under_way.push_back(&flight);
    }
    if (under_way.empty() || pauses.late() || (wants_pause && !pauses.pause())) return;
    for (Flight* flight : under_way) requests.push_back(flight->next(now));
    const Responses responses = route.transport.send(requests, deadline);
    for (std::size_t i = 0; i < under_way.size(); ++i) under_way[i]->take(responses[i]);
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
                     aws::Deadline deadline) {
  Answers answers(transactions.size(), failure(ErrorCode::unavailable, "an earlier one is open"));
  const std::vector<std::size_t> waves = waves_of(transactions);
  const std::size_t count = *std::ranges::max_element(waves) + 1;
  std::map<const Key*, bool, ByValue> open;
  for (std::size_t wave = 0; wave < count; ++wave) {
    std::vector<std::size_t> members;
    std::vector<Flight> flights;
    for (std::size_t i = 0; i < transactions.size(); ++i) {
      if (waves[i] != wave) continue;
      const auto is_blocked = [&](const Write& write) { return open.contains(&write.key); };
      if (std::ranges::any_of(transactions[i], is_blocked)) {
        for (const Write& write : transactions[i]) open[&write.key] = true;
        continue;
      }
      members.push_back(i);
      flights.emplace_back(route.table, transactions[i], route.entropy);
    }
    fly(route, flights, pauses, deadline);
    for (std::size_t at = 0; at < members.size(); ++at) {
      const std::size_t i = members[at];
      answers[i] = flights[at].answer();
      if (!is_open(answers[i])) continue;
      for (const Write& write : transactions[i]) open[&write.key] = true;
    }
  }
  return answers;
}

}  // namespace once::dynamodb
