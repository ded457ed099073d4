#include "primitives/sketches/top.h"

#include <algorithm>
#include <limits>

#include "primitives/record.h"

namespace once::sketches {
namespace {

constexpr std::uint8_t kTopFormat = 1;
constexpr auto kMostTotal = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

}  // namespace

Result<void> Top::grow_total(std::uint64_t count) {
  if (count > kMostTotal - total_) return failure(ErrorCode::invalid, "top: the total overflows");
  total_ += count;
  return {};
}

Result<void> Top::add(std::string_view item, std::uint64_t count) {
  if (item.size() > kMaxTopItem || count == 0) {
    return failure(ErrorCode::invalid, "top: an item has at most 512 bytes and counts at least 1");
  }
  if (Result<void> fits = grow_total(count); !fits) return fits;
  const auto found = kept_.find(item);
  if (found != kept_.end()) {
    found->second += count;
  } else {
    kept_.emplace(item, count);
    prune();
  }
  return {};
}

Result<void> Top::merge(const Top& other) {
  if (other.counters_ != counters_) {
    return failure(ErrorCode::invalid, "top: summaries with different numbers of counters");
  }
  if (Result<void> fits = grow_total(other.total_); !fits) return fits;
  for (const auto& [item, count] : std::map(other.kept_)) kept_[item] += count;
  removed_ += other.removed_;
  prune();
  return {};
}

// Subtracts the (k+1)-th largest count from all, so that at most k items stay. At least k + 1
// counters lose that much, so `removed_` cannot exceed total / (k + 1).
void Top::prune() {
  if (kept_.size() <= counters_) return;
  std::vector<std::uint64_t> counts;
  counts.reserve(kept_.size());
  for (const auto& [item, count] : kept_) counts.push_back(count);
  const auto cut = counts.begin() + static_cast<std::ptrdiff_t>(counters_);
  std::ranges::nth_element(counts, cut, std::greater());
  const std::uint64_t taken = *cut;
  removed_ += taken;
  std::erase_if(kept_, [&](const auto& entry) { return entry.second <= taken; });
  for (auto& [item, count] : kept_) count -= taken;
}

std::vector<Heavy> Top::report() const {
  std::vector<Heavy> all;
  all.reserve(kept_.size());
  for (const auto& [item, count] : kept_) all.push_back({item, count + removed_, removed_});
  std::ranges::sort(all, [](const Heavy& a, const Heavy& b) {
    return a.count != b.count ? a.count > b.count : a.item < b.item;
  });
  return all;
}

Bytes Top::encode() const {
  RecordWriter out(RecordKind::top, kTopFormat);
  out.number(counters_);
  out.number(total_);
  out.number(removed_);
  out.number(kept_.size());
  for (const auto& [item, count] : kept_) {
    out.bytes(item);
    out.number(count);
  }
  return out.finish();
}

Result<Top> Top::decode(std::string_view record) {
  Result<RecordReader> in = RecordReader::open(record, RecordKind::top, kTopFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  const auto corrupt = failure(ErrorCode::corrupt, "a top summary does not parse");
  const std::uint64_t counters = in->number();
  if (counters < 1 || counters > kMaxCounters) return corrupt;
  Top top(counters);
  top.total_ = in->number();
  top.removed_ = in->number();
  const std::uint64_t items = in->number();
  const bool bounded = top.total_ <= kMostTotal && top.removed_ <= top.total_ / (counters + 1);
  if (!bounded || items > counters) return corrupt;
  std::uint64_t unaccounted = top.total_ - top.removed_ * (counters + 1);
  for (std::uint64_t i = 0; i < items; ++i) {
    Bytes item = in->bytes();
    const std::uint64_t count = in->number();
    const bool ascends = top.kept_.empty() || item > top.kept_.rbegin()->first;
    if (!ascends || item.size() > kMaxTopItem || count == 0 || count > unaccounted) return corrupt;
    unaccounted -= count;
    top.kept_.emplace_hint(top.kept_.end(), std::move(item), count);
  }
  if (!in->sound()) return corrupt;
  return top;
}

}  // namespace once::sketches
