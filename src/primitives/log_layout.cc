#include "primitives/log_layout.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace once::logs {
namespace {

// A reader of one event decodes the whole record. A batch that is longer has a record of its own.
constexpr std::size_t kSharedRecordBytes = 64U << 10;

constexpr std::size_t kRecordHead = 64;  // More than its fields take besides the parts.

// Events of one record expire together.
constexpr Duration kExpiryApart = std::chrono::seconds(1);

bool expire_together(Time a, Time b) {
  if (a == kNever || b == kNever) return a == b;
  return std::max(a, b) - std::min(a, b) <= kExpiryApart;
}

bool is_same_check(const Guard& a, const Guard& b) {
  return a.kind == b.kind && a.version == b.version;
}

// Adds, raises or checks by one write what both would. False if that is impossible.
bool absorb(Write& into, const Write& other) {
  if (into.kind != other.kind) return false;
  if (into.kind == Write::Kind::check) return is_same_check(into.guard, other.guard);
  auto& sum = std::get<std::int64_t>(into.value);
  const std::int64_t more = std::get<std::int64_t>(other.value);
  into.expiry = other.expiry;
  if (into.kind == Write::Kind::add) return !__builtin_add_overflow(sum, more, &sum);
  sum = std::max(sum, more);
  return true;
}

}  // namespace

Layout::Layout(const std::vector<GroupedAppend*>& members, const AppendPosition& position, Time now,
               const Limits& limits, std::size_t most_records)
    : now_(now),
      limits_(limits),
      most_records_(most_records),
      position_(position),
      end_(position.first) {
  // Those that expect to be next come before all others, each in order of arrival.
  const auto is_next = [&](const GroupedAppend* member) {
    return member->append.expect == position.first;
  };
  std::vector<GroupedAppend*> ordered;
  ordered.reserve(members.size());
  std::ranges::copy_if(members, std::back_inserter(ordered), is_next);
  std::ranges::copy_if(members, std::back_inserter(ordered), std::not_fn(is_next));
  for (GroupedAppend* member : ordered) {
    if (member->append.is_unexpected(end_)) {
      unexpected_.push_back(member);
    } else if (!rest_.empty() || !place(*member)) {
      rest_.push_back(member);
    }
  }
}

bool Layout::can_join(const Draft& draft, const PendingAppend& append) const {
  if (append.chunks.size() > 1) return false;
  const std::size_t bytes = kRecordHead + draft.bytes + append.bytes();
  return draft.record.count + append.count <= static_cast<std::int64_t>(kMaxBatchEvents) &&
         bytes <= std::min(kSharedRecordBytes, limits_.value_bytes) &&
         expire_together(draft.record.expires, append.expires);
}

// False if it needs more records than there may be.
bool Layout::place(GroupedAppend& member) {
  const PendingAppend& append = member.append;
  const bool joins = !records_.empty() && can_join(records_.back(), append);
  if (!joins && records_.size() + append.chunks.size() > most_records_) return false;
  placed_.push_back({&member, end_, joins ? records_.back().first : end_});
  std::string id = append.batch;
  for (const PendingAppend::Chunk& chunk : append.chunks) {
    if (!joins) records_.push_back({.first = end_});
    Draft& draft = records_.back();
    draft.record.appended = now_;
    draft.record.expires = joins ? std::max(draft.record.expires, append.expires) : append.expires;
    draft.record.parts.push_back({std::exchange(id, {}), chunk.count});
    draft.record.count += chunk.count;
    draft.events.push_back(chunk.events);
    draft.bytes += append.bytes();
    end_ += chunk.count;
  }
  return true;
}

std::vector<Write> Layout::records() const {
  std::vector<Write> writes;
  const Partition partition = batch_partition(placed_.front().member->append.stream);
  for (const Draft& draft : records_) {
    writes.push_back(
        put({partition, draft.first}, encode(draft.record, draft.events), absent_lasting()));
  }
  return writes;
}

std::vector<Write> Layout::writes() {
  std::vector<Write> writes = records();
  owners_.clear();
  shared_at_.clear();
  numbers_at_.assign(placed_.size(), {});
  for (const Place& place : placed_) {
    const PendingAppend& append = place.member->append;
    if (!append.batch.empty()) {
      writes.push_back(append.id_at(place.record, place.first - place.record, absent_lasting()));
      owners_.push_back({&place, true});
    }
  }
  for (const Place& place : placed_) {
    if (place.member->also) add_others(place, writes);
  }
  const Stream& stream = placed_.front().member->append.stream;
  if (stream.strategy == LogStrategy::transaction) {
    const Guard guard = position_.head ? unchanged(position_.head) : absent_lasting();
    writes.push_back(put(head_key(stream), end_, guard));
  }
  return writes;
}

void Layout::add_others(const Place& place, std::vector<Write>& writes) {
  std::vector<std::size_t>& numbers_at =
      numbers_at_[static_cast<std::size_t>(&place - &placed_[0])];
  for (Write& other : place.member->also(place.first)) {
    std::size_t at = writes.size();
    if (can_share(other)) {
      const auto same = shared_at_.try_emplace(other.key, at).first;
      if (same->second < at && absorb(writes[same->second], other)) at = same->second;
    }
    numbers_at.push_back(at);
    if (at < writes.size()) continue;
    writes.push_back(std::move(other));
    owners_.push_back({&place, false});
  }
}

const Layout::Place* Layout::owner_of(std::size_t write) const {
  if (is_record(write) || write - records_.size() >= owners_.size()) return nullptr;
  return owners_[write - records_.size()].place;
}

std::vector<GroupedAppend*> Layout::owners_of(std::size_t write) const {
  std::vector<GroupedAppend*> owners;
  for (std::size_t i = 0; i < placed_.size(); ++i) {
    if (std::ranges::count(numbers_at_[i], write) > 0) owners.push_back(placed_[i].member);
  }
  return owners;
}

bool Layout::is_id(std::size_t write) const {
  return owner_of(write) != nullptr && owners_[write - records_.size()].is_id;
}

std::vector<std::optional<std::int64_t>> Layout::numbers_of(const Place& place,
                                                            const Committed& committed) const {
  std::vector<std::optional<std::int64_t>> numbers;
  if (numbers_at_.empty()) return numbers;
  for (const std::size_t at : numbers_at_[static_cast<std::size_t>(&place - &placed_[0])]) {
    numbers.push_back(at < committed.numbers.size() ? committed.numbers[at] : std::nullopt);
  }
  return numbers;
}

}  // namespace once::logs
