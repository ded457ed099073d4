#include "primitives/tally_kinds.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "primitives/sketches/bloom.h"
#include "primitives/sketches/distinct.h"
#include "primitives/sketches/top.h"
#include "primitives/tally_words.h"

namespace once::tallies {
namespace {

constexpr std::size_t kMaxItems = 10'000;
constexpr std::size_t kMaxItemBytes = 64U << 10;

template <class Sketch>
Result<Bytes> with_items(Sketch sketch, const std::vector<CountedItem>& items) {
  for (const CountedItem& counted : items) sketch.add(counted.item);
  return sketch.encode();
}

Result<Bytes> top_of(sketches::Top top, const std::vector<CountedItem>& items) {
  for (const CountedItem& counted : items) {
    if (Result<void> added = top.add(counted.item, counted.count); !added) {
      return std::unexpected(std::move(added.error()));
    }
  }
  return top.encode();
}

Result<Bytes> sketch_of(const TallyShape& shape, const std::vector<CountedItem>& items) {
  const bool short_enough = std::ranges::all_of(
      items, [](const CountedItem& counted) { return counted.item.size() <= kMaxItemBytes; });
  if (items.size() > kMaxItems || !short_enough) {
    return failure(ErrorCode::invalid, "at most 10,000 items of at most 64 KiB");
  }
  if (shape.kind == TallyKind::distinct) {
    return with_items(sketches::Distinct(shape.precision), items);
  }
  if (shape.kind == TallyKind::top) return top_of(sketches::Top(shape.counters), items);
  return with_items(*sketches::Bloom::make({shape.capacity, shape.rate}), items);
}

Result<Bytes> number_of(TallyKind kind, std::int64_t number) {
  if (kind == TallyKind::count && number < 1) {
    return failure(ErrorCode::invalid, "a count grows by 1 or more");
  }
  return integer(number);
}

}  // namespace

Result<Bytes> state_of(const TallyShape& shape, const Monoid& monoid, const TallyInput& input) {
  const auto* number = std::get_if<std::int64_t>(&input);
  const auto* real = std::get_if<double>(&input);
  const auto* items = std::get_if<std::vector<CountedItem>>(&input);
  const auto* state = std::get_if<Bytes>(&input);
  if (is_native(shape.kind) && number != nullptr) return number_of(shape.kind, *number);
  if (shape.kind == TallyKind::real && real != nullptr && std::isfinite(*real)) {
    return word(std::bit_cast<std::uint64_t>(*real));
  }
  const bool sketched = shape.kind >= TallyKind::distinct && shape.kind <= TallyKind::bloom;
  if (sketched && items != nullptr) return sketch_of(shape, *items);
  if (shape.kind == TallyKind::own && state != nullptr) {
    if (!monoid.validate(*state)) return failure(ErrorCode::invalid, "not a state of the monoid");
    return *state;
  }
  return failure(ErrorCode::invalid, "the input does not suit the kind of tally");
}

TallyValue value_of(TallyKind kind, std::string_view state) {
  switch (kind) {
    case TallyKind::max:
    case TallyKind::min:
      if (state.empty()) return std::monostate{};
      [[fallthrough]];
    case TallyKind::sum:
    case TallyKind::count: return integer_in(state);
    case TallyKind::real: return std::bit_cast<double>(word_in(state));
    case TallyKind::distinct: {
      const double estimate = sketches::Distinct::decode(state)->estimate();
      return static_cast<std::int64_t>(std::min(std::round(estimate), 9.0e18));
    }
    case TallyKind::top: {
      std::vector<HeavyItem> items;
      for (sketches::Heavy& heavy : sketches::Top::decode(state)->report()) {
        items.push_back({std::move(heavy.item), heavy.count, heavy.error});
      }
      return items;
    }
    case TallyKind::bloom: return BloomAnswer{Bytes(state)};
    case TallyKind::own: return Bytes(state);
  }
  return std::monostate{};
}

bool is_native(TallyKind kind) {
  return kind == TallyKind::sum || kind == TallyKind::count || kind == TallyKind::max ||
         kind == TallyKind::min;
}

Bytes state_of_native(TallyKind kind, std::int64_t number) {
  return integer(kind == TallyKind::min ? ~number : number);
}

std::int64_t native_of(TallyKind kind, std::string_view state) {
  const std::int64_t number = integer_in(state);
  return kind == TallyKind::min ? ~number : number;
}

}  // namespace once::tallies

bool once::BloomAnswer::may_contain(std::string_view item) const {
  const Result<sketches::Bloom> filter = sketches::Bloom::decode(state);
  return filter && filter->may_contain(item);
}
