#include "stores/memory/committer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace once::memory {
namespace {

// Reads the clock only if an item expires at all, and then once.
class LazyNow {
 public:
  explicit LazyNow(Clock& clock) : clock_(clock) {}
  bool past(const Node& node) {
    if (!node.expires()) return false;
    if (now_ == kUnasked) now_ = clock_.now();
    return node.expiry() <= now_;
  }

 private:
  static constexpr Time kUnasked = Time::min();
  Clock& clock_;
  Time now_ = kUnasked;
};

// Reserved space that is given back unless it is used.
class Reservation {
 public:
  explicit Reservation(Room& room) : room_(room) {}
  ~Reservation() {
    if (bytes_ != 0) room_.give_back(bytes_);
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  std::size_t bytes() const { return bytes_; }
  void add(std::size_t bytes) { bytes_ += bytes; }
  void use(std::size_t written, std::size_t replaced) {
    bytes_ += replaced;
    bytes_ -= written;
  }

 private:
  Room& room_;
  std::size_t bytes_ = 0;
};

Committed answer_of(Transaction writes, auto steps) {
  Committed answer;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (!steps[i].effect.number) continue;
    answer.numbers.resize(writes.size());
    answer.numbers[i] = steps[i].effect.number;
  }
  return answer;
}

}  // namespace

Result<CommitOutcome> Committer::commit(Transaction writes) {
  if (writes.size() == 1) {
    Step step;
    return commit(writes, {&step, 1});
  }
  std::vector<Step> steps(writes.size());
  return commit(writes, steps);
}

std::vector<Result<CommitOutcome>> Committer::commit_each(
    std::span<const Transaction> transactions) {
  const auto single = [](const Transaction& writes) { return writes.size() == 1; };
  const bool many = transactions.size() >= kMany && !room_.bounded();
  if (many && std::ranges::all_of(transactions, single)) return commit_by_shard(transactions);
  std::vector<Result<CommitOutcome>> answers;
  answers.reserve(transactions.size());
  while (!transactions.empty()) {
    const auto next = transactions.first(std::min(kFetched, transactions.size()));
    if (next.size() > 1) fetch(next);
    for (const Transaction& transaction : next) answers.push_back(commit(transaction));
    transactions = transactions.subspan(next.size());
  }
  return answers;
}

// The commits of one shard are performed together and keep their order; those of other shards share
// no key with them. So a lock, and what it guards, moves between cores once a shard, not once a
// commit.
std::vector<Result<CommitOutcome>> Committer::commit_by_shard(
    std::span<const Transaction> transactions) {
  std::vector<Result<CommitOutcome>> answers(transactions.size());
  const std::vector<Ranked> sorted = sorted_by_shard(transactions);
  for (const Ranked& ranked : sorted) shards_.fetch_entry(ranked.place);
  std::span<const Ranked> rest = sorted;
  while (!rest.empty()) {
    const std::uint32_t shard = rest[0].place.shard;
    const auto elsewhere = [&](const Ranked& ranked) { return ranked.place.shard != shard; };
    const auto end = std::ranges::find_if(rest.first(std::min(kTogether, rest.size())), elsewhere);
    const auto group = rest.first(static_cast<std::size_t>(end - rest.begin()));
    commit_in_shard(group, transactions, answers);
    rest = rest.subspan(group.size());
  }
  return answers;
}

std::vector<Committer::Ranked> Committer::sorted_by_shard(
    std::span<const Transaction> transactions) {
  std::vector<Ranked> places(transactions.size());
  std::array<std::uint32_t, kShards + 1> start{};
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    places[i] = {place_of(transactions[i][0].key.partition), i};
    ++start[places[i].place.shard + 1];
  }
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  std::vector<Ranked> sorted(places.size());
  for (const Ranked& ranked : places) sorted[start[ranked.place.shard]++] = ranked;
  return sorted;
}

void Committer::commit_in_shard(std::span<const Ranked> group,
                                std::span<const Transaction> transactions,
                                std::span<Result<CommitOutcome>> answers) {
  LockedShards locked(shards_, 1ULL << group[0].place.shard);
  const Shard& shard = locked[group[0].place.shard];
  for (const Ranked& ranked : group) shard.fetch_item(ranked.place.hash);
  for (const Ranked& ranked : group) {
    Step step{.place = ranked.place, .spot = {}, .effect = {}};
    const Transaction writes = transactions[ranked.at];
    auto lost = judge(writes, {&step, 1}, locked);
    if (!lost) {
      answers[ranked.at] = std::unexpected(std::move(lost.error()));
    } else if (*lost) {
      answers[ranked.at] = CommitOutcome(std::move(**lost));
    } else {
      apply(writes, {&step, 1}, locked);
      answers[ranked.at] = CommitOutcome(answer_of(writes, std::span(&step, 1)));
    }
  }
}

// Prefetches the first item of each commit, all at the same time: most of a commit's time is
// waiting for memory.
void Committer::fetch(std::span<const Transaction> transactions) {
  std::array<Place, kFetched> places;
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    places[i] = place_of(transactions[i][0].key.partition);
    shards_.fetch_entry(places[i]);
  }
  for (const Place& place : std::span(places).first(transactions.size())) {
    GuardedShard& guarded = shards_[place.shard];
    if (!guarded.mutex.try_lock()) continue;
    guarded.shard.fetch_item(place.hash);
    guarded.mutex.unlock();
  }
}

Result<CommitOutcome> Committer::commit(Transaction writes, std::span<Step> steps) {
  std::uint64_t involved = 0;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    steps[i].place = place_of(writes[i].key.partition);
    involved |= 1ULL << steps[i].place.shard;
  }
  Reservation reserved(room_);
  while (true) {
    Sizes sizes;
    {
      LockedShards locked(shards_, involved);
      auto lost = judge(writes, steps, locked);
      if (!lost) return std::unexpected(std::move(lost.error()));
      if (*lost) return CommitOutcome(std::move(**lost));
      if (room_.bounded()) sizes = sizes_of(writes, steps, locked);
      const std::size_t growth = sizes.growth();
      if (growth > reserved.bytes() && room_.take(growth - reserved.bytes())) {
        reserved.add(growth - reserved.bytes());
      }
      if (growth <= reserved.bytes()) {
        apply(writes, steps, locked);
        reserved.use(sizes.written, sizes.replaced);
        return CommitOutcome(answer_of(writes, steps));
      }
    }
    // Evicted items are in other shards, so this is done without our locks; then all is evaluated
    // again.
    const std::size_t missing = sizes.growth() - reserved.bytes();
    if (auto made = make_room(writes, sizes, reserved.bytes()); !made) {
      return std::unexpected(std::move(made.error()));
    }
    reserved.add(missing);
  }
}

Result<std::optional<Lost>> Committer::judge(Transaction writes, std::span<Step> steps,
                                             LockedShards& locked) {
  LazyNow now(clock_);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    Shard& shard = locked[steps[i].place.shard];
    steps[i].spot = shard.find(steps[i].place.hash, writes[i].key);
    const Ref ref = steps[i].spot.ref;
    std::optional<CurrentItem> current;
    if (ref != kNull && !now.past(shard.node(ref))) {
      const auto& node = shard.node(ref);
      current = CurrentItem{node.version(), node.number(), node.expiry() == kNever};
    }
    const CurrentItem* there = current ? &*current : nullptr;
    if (!holds(writes[i].guard, there)) {
      if (there == nullptr) return Lost{.write = i, .current = std::nullopt};
      shard.touch(ref);
      return Lost{.write = i, .current = shard.node(ref).item()};
    }
    auto effect = effect_of(writes[i], there);
    if (!effect) return std::unexpected(std::move(effect.error()));
    steps[i].effect = *effect;
  }
  return std::nullopt;
}

Committer::Sizes Committer::sizes_of(Transaction writes, std::span<const Step> steps,
                                     LockedShards& locked) const {
  Sizes sizes;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const Effect& effect = steps[i].effect;
    if (effect.kind == Effect::Kind::put) {
      sizes.written += charge_of(draft_of(writes[i], effect).node_bytes());
    }
    if (steps[i].spot.ref == kNull) continue;
    const Node node = locked[steps[i].place.shard].node(steps[i].spot.ref);
    if (effect.kind != Effect::Kind::none) sizes.replaced += charge_of(node.bytes());
    if (node.ranked()) sizes.spared += charge_of(node.bytes());
  }
  return sizes;
}

Draft Committer::draft_of(const Write& write, const Effect& effect) const {
  Draft draft{.key = write.key,
              .number = effect.number,
              .bytes = {},
              .version = write.version,
              .expiry = write.expiry,
              .ranked = room_.bounded() && write.expiry != kNever && !write.pinned};
  if (const Bytes* bytes = std::get_if<Bytes>(&write.value)) {
    draft.bytes = *bytes;
  } else if (!draft.number) {
    draft.number = std::get<std::int64_t>(write.value);
  }
  return draft;
}

void Committer::apply(Transaction writes, std::span<Step> steps, LockedShards& locked) {
  for (std::size_t i = 0; i < writes.size(); ++i) {
    Step& step = steps[i];
    Shard& shard = locked[step.place.shard];
    // An earlier write of this commit may have moved the item.
    if (i > 0) step.spot = shard.find(step.place.hash, writes[i].key);
    switch (step.effect.kind) {
      case Effect::Kind::put:
        shard.put(step.spot, step.place.hash, draft_of(writes[i], step.effect));
        break;
      case Effect::Kind::erase:
        if (step.spot.ref != kNull) shard.erase(step.spot);
        break;
      case Effect::Kind::none:
        if (step.spot.ref != kNull) shard.touch(step.spot.ref);
        break;
    }
  }
}

Result<void> Committer::make_room(Transaction writes, const Sizes& sizes, std::size_t reserved) {
  if (sizes.written > room_.bound()) {
    return failure(ErrorCode::invalid, "needs " + std::to_string(sizes.written) +
                                           " bytes, more than this store may ever hold (" +
                                           std::to_string(room_.bound()) + ")");
  }
  const bool made = evictor_.make_room(
      {.bytes = sizes.growth() - reserved, .commit = writes, .spared_bytes = sizes.spared});
  if (made) return {};
  return failure(ErrorCode::unavailable,
                 "memory is full (" + std::to_string(room_.bound()) +
                     " bytes), and too little of what it holds has an expiry to make way");
}

}  // namespace once::memory
