#include "drivers/call_queues.h"

#include <algorithm>
#include <utility>

namespace once::detail {
namespace {

// Of the calls in flight, the part that is kept for urgent steps.
constexpr std::size_t kUrgentShare = 4;

// Places whose last call took longer than this use at most half of the calls.
constexpr auto kSlow = std::chrono::seconds(1);
constexpr std::size_t kMostSlowPlaces = 10'000;

// Calls of one place do not wait for those of several, which would otherwise wait for a moment at
// which all of their places are free.
unsigned bit_of(CallKind kind, bool urgent, std::size_t places) {
  const unsigned sort =
      static_cast<unsigned>(kind) * 4 + (urgent ? 2U : 0U) + (places > 1 ? 1U : 0U);
  return 1U << sort;
}

// Commits of every sort.
unsigned commit_bits() {
  return bit_of(CallKind::commit, false, 1) | bit_of(CallKind::commit, false, 2) |
         bit_of(CallKind::commit, true, 1) | bit_of(CallKind::commit, true, 2);
}

}  // namespace

CallQueues::CallQueues(const Store& store) : store_(store) {
  const std::size_t all = std::max<std::size_t>(store.limits().calls_in_flight, 2);
  ways_[0].urgent = true;
  ways_[0].max_calls = std::max<std::size_t>(all / kUrgentShare, 1);
  ways_[1].max_calls = all - ways_[0].max_calls;
}

void CallQueues::push(Task& task) {
  Way& way = ways_[task.urgent ? 0 : 1];
  Name name{kind_of(task.step), places_of(task.step, store_)};
  const auto known = way.by_name.find(name);
  if (known != way.by_name.end() && may_join(*known->second)) {
    known->second->waiting.push_back(&task);
    return;
  }
  way.queues.push_back({++last_number_, name.first, name.second, {&task}});
  if (name.first == CallKind::commit) {
    for (const std::uint64_t place : name.second) waiting_commits_[place].insert(last_number_);
  }
  way.by_name.insert_or_assign(std::move(name), std::prev(way.queues.end()));
}

// A read goes with others only if no commit of its places was asked for since.
bool CallQueues::may_join(const Queue& queue) const {
  return queue.kind == CallKind::commit ||
         std::ranges::none_of(queue.places, [&](std::uint64_t place) {
           const auto found = waiting_commits_.find(place);
           return found != waiting_commits_.end() && *found->second.rbegin() > queue.number;
         });
}

// No commit of its places was asked for before it and waits.
bool CallQueues::is_after_commits(const Queue& queue) const {
  return std::ranges::none_of(queue.places, [&](std::uint64_t place) {
    const auto found = waiting_commits_.find(place);
    return found != waiting_commits_.end() && *found->second.begin() < queue.number;
  });
}

std::optional<StoreCall> CallQueues::take_next() {
  for (Way& way : ways_) {
    if (way.under_way >= way.max_calls) continue;
    for (auto queue = way.queues.begin(); queue != way.queues.end(); ++queue) {
      if (may_start(way, *queue)) return take(way, queue);
    }
  }
  return std::nullopt;
}

void CallQueues::finish(const StoreCall& call) {
  Way& way = ways_[call.urgent ? 0 : 1];
  --way.under_way;
  if (call.counted_slow) --way.slow_under_way;
  const unsigned bit = bit_of(call.kind, call.urgent, call.places.size());
  if (slow_.size() > kMostSlowPlaces) slow_.clear();
  for (const std::uint64_t place : call.places) {
    const auto under_way = under_way_.find(place);
    under_way->second &= ~bit;
    if (under_way->second == 0) under_way_.erase(under_way);
    if (call.took > kSlow) {
      slow_.insert(place);
    } else {
      slow_.erase(place);
    }
  }
}

// A read waits for the commits of its places, so that of two requests that a client sends one after
// the other the second sees what the first wrote.
bool CallQueues::may_start(const Way& way, const Queue& queue) const {
  unsigned bits = bit_of(queue.kind, way.urgent, queue.places.size());
  if (queue.kind != CallKind::commit && !way.urgent) {
    if (!is_after_commits(queue)) return false;
    bits |= commit_bits();
  }
  const bool free = std::ranges::none_of(queue.places, [&](std::uint64_t place) {
    const auto found = under_way_.find(place);
    return found != under_way_.end() && (found->second & bits) != 0;
  });
  const std::size_t most_slow = std::max<std::size_t>(way.max_calls / 2, 1);
  return free && (way.slow_under_way < most_slow || !is_slow(queue.places));
}

// In order of arrival, as many as fit into one call; the rest stays.
StoreCall CallQueues::take(Way& way, Queues::iterator queue) {
  StoreCall call{.kind = queue->kind, .urgent = way.urgent, .places = queue->places};
  const std::size_t most = most_in_call(call.kind, store_.limits());
  std::size_t size = 0;
  auto next = queue->waiting.begin();
  for (; next != queue->waiting.end(); ++next) {
    size += size_of((*next)->step);
    if (!call.tasks.empty() && size > most) break;
    call.tasks.push_back(*next);
  }
  queue->waiting.erase(queue->waiting.begin(), next);
  if (queue->waiting.empty()) remove(way, queue);
  ++way.under_way;
  call.counted_slow = is_slow(call.places);
  if (call.counted_slow) ++way.slow_under_way;
  const unsigned bit = bit_of(call.kind, call.urgent, call.places.size());
  for (const std::uint64_t place : call.places) under_way_[place] |= bit;
  return call;
}

void CallQueues::remove(Way& way, Queues::iterator queue) {
  if (queue->kind == CallKind::commit) {
    for (const std::uint64_t place : queue->places) {
      const auto numbers = waiting_commits_.find(place);
      numbers->second.erase(queue->number);
      if (numbers->second.empty()) waiting_commits_.erase(numbers);
    }
  }
  const auto named = way.by_name.find({queue->kind, queue->places});
  if (named->second == queue) way.by_name.erase(named);
  way.queues.erase(queue);
}

bool CallQueues::is_slow(const std::vector<std::uint64_t>& places) const {
  return std::ranges::any_of(places, [this](std::uint64_t at) { return slow_.contains(at); });
}

}  // namespace once::detail
