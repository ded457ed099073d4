// Heavy hitters: arbitrary bytes as a state, and two arbitrary states merged.
#include <map>

#include "fuzz/sketch_laws.h"
#include "primitives/sketches/top.h"

namespace once::fuzz {
namespace {

using sketches::Heavy;
using sketches::Top;

void check_bounds(const Top& top) {
  require(top.error() <= top.total() / (top.counters() + 1));
  require(top.report().size() <= top.counters());
  std::uint64_t least = 0;
  for (const Heavy& heavy : top.report()) {
    require(heavy.error == top.error() && heavy.count > heavy.error);
    least += heavy.count - heavy.error;
  }
  require(least <= top.total());
}

void check_pair(const Top& a, const Top& b) {
  const Result<Top> both = check_merge(a, b);
  if (!both) {
    require(a.counters() != b.counters() || a.total() > INT64_MAX - b.total());
    return;
  }
  check_bounds(*both);
  require(both->total() == a.total() + b.total() && both->error() >= a.error() + b.error());
  Top same = a;
  require(same.merge(Top(a.counters())) && same == a);
}

using Counts = std::map<std::string, std::uint64_t>;

void check_counts(const Top& top, Counts counts) {
  for (const Heavy& heavy : top.report()) {
    const std::uint64_t truth = counts[heavy.item];
    require(truth <= heavy.count && truth >= heavy.count - heavy.error);
    counts.erase(heavy.item);
  }
  for (const auto& [item, truth] : counts) require(truth <= top.error());
}

// The bounds hold for the true counts, however items were divided before the merge.
void check_items(FuzzedDataProvider& input) {
  const auto counters = input.ConsumeIntegralInRange<std::size_t>(1, 4);
  Top left(counters);
  Top right(counters);
  Counts counts;
  while (input.remaining_bytes() > 0) {
    Top& side = input.ConsumeBool() ? left : right;
    const std::string item = input.ConsumeRandomLengthString(2);
    const std::uint64_t count = input.ConsumeIntegralInRange<std::uint64_t>(1, 1'000);
    require(side.add(item, count).has_value());
    counts[item] += count;
  }
  const Result<Top> both = check_merge(left, right);
  require(both.has_value());
  check_bounds(*both);
  check_counts(*both, std::move(counts));
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once;
  using namespace once::fuzz;
  const auto [one, other] = cut_in_two({reinterpret_cast<const char*>(data), size});
  const Result<Top> a = sketch_in<Top>(RecordKind::top, one);
  const Result<Top> b = sketch_in<Top>(RecordKind::top, other);
  if (a) check_bounds(*a);
  if (a && b) check_pair(*a, *b);
  FuzzedDataProvider input(data, size);
  check_items(input);
  return 0;
}
