#include "primitives/tally_kinds.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "primitives/sketches/bloom.h"
#include "primitives/sketches/distinct.h"
#include "primitives/sketches/top.h"

namespace once {

bool is_window(const TallyWindow& window) {
  constexpr Duration kDay = std::chrono::days(1);
  const Duration length = window.length;
  if (length == Duration::zero()) return true;
  if (length < std::chrono::seconds(1) || length > std::chrono::years(10)) return false;
  return length < kDay ? kDay % length == Duration::zero() : length % kDay == Duration::zero();
}

}  // namespace once

namespace once::tallies {
namespace {

// Numbers as states: 8 bytes, little endian.
constexpr std::size_t kWordBytes = 8;

Bytes word(std::uint64_t bits) {
  Bytes out;
  for (unsigned shift = 0; shift < 64; shift += 8) out += static_cast<char>(bits >> shift);
  return out;
}

std::uint64_t word_in(std::string_view state) {
  std::uint64_t bits = 0;
  for (std::size_t i = kWordBytes; i-- > 0;) bits = bits << 8 | static_cast<std::uint8_t>(state[i]);
  return bits;
}

std::int64_t integer_in(std::string_view state) {
  return static_cast<std::int64_t>(word_in(state));
}
Bytes integer(std::int64_t value) { return word(static_cast<std::uint64_t>(value)); }

Result<void> check_word(std::string_view state) {
  if (state.size() == kWordBytes) return {};
  return failure(ErrorCode::corrupt, "a tally's number does not have 8 bytes");
}

// sum and count: 8 bytes, little endian.
class SumMonoid final : public Monoid {
 public:
  explicit SumMonoid(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  Bytes identity() const override { return integer(0); }
  Result<void> validate(std::string_view state) const override { return check_word(state); }
  Result<Bytes> merge(std::string_view a, std::string_view b) const override {
    std::int64_t total = 0;
    if (__builtin_add_overflow(integer_in(a), integer_in(b), &total)) {
      return failure(ErrorCode::invalid, "integer overflow");
    }
    return integer(total);
  }

 private:
  const std::string name_;
};

// max and min: empty, or 8 bytes, little endian. Zero is not their identity.
class ExtremeMonoid final : public Monoid {
 public:
  explicit ExtremeMonoid(TallyKind kind) : kind_(kind) {}
  std::string name() const override { return std::string(traits_of(kind_).name); }
  Bytes identity() const override { return {}; }
  Result<void> validate(std::string_view state) const override {
    return state.empty() ? Result<void>() : check_word(state);
  }
  Result<Bytes> merge(std::string_view a, std::string_view b) const override {
    if (a.empty() || b.empty()) return Bytes(a.empty() ? b : a);
    const std::int64_t one = integer_in(a);
    const std::int64_t other = integer_in(b);
    return integer(kind_ == TallyKind::max ? std::max(one, other) : std::min(one, other));
  }
  bool idempotent() const override { return traits_of(kind_).idempotent; }

 private:
  const TallyKind kind_;
};

// real: the bits of a finite double, little endian.
class RealMonoid final : public Monoid {
 public:
  std::string name() const override { return "real"; }
  Bytes identity() const override { return word(std::bit_cast<std::uint64_t>(0.0)); }
  Result<void> validate(std::string_view state) const override {
    if (Result<void> sized = check_word(state); !sized) return sized;
    if (std::isfinite(std::bit_cast<double>(word_in(state)))) return {};
    return failure(ErrorCode::corrupt, "a tally's real is not finite");
  }
  Result<Bytes> merge(std::string_view a, std::string_view b) const override {
    const double sum = std::bit_cast<double>(word_in(a)) + std::bit_cast<double>(word_in(b));
    if (!std::isfinite(sum)) return failure(ErrorCode::invalid, "the sum is not finite");
    return word(std::bit_cast<std::uint64_t>(sum));
  }
};

// A sketch of one shape, whose identity is `empty`.
template <class Sketch>
class SketchMonoid final : public Monoid {
 public:
  SketchMonoid(std::string name, Sketch empty) : name_(std::move(name)), empty_(std::move(empty)) {}
  std::string name() const override { return name_; }
  Bytes identity() const override { return empty_.encode(); }
  Result<void> validate(std::string_view state) const override {
    Result<Sketch> sketch = Sketch::decode(state);
    if (!sketch) return std::unexpected(std::move(sketch.error()));
    return sketch->merge(empty_);  // Fails only if the shapes differ.
  }
  Result<Bytes> merge(std::string_view a, std::string_view b) const override {
    Result<Sketch> into = Sketch::decode(a);
    if (!into) return std::unexpected(std::move(into.error()));
    const Result<Sketch> from = Sketch::decode(b);
    if (!from) return std::unexpected(from.error());
    if (Result<void> merged = into->merge(*from); !merged) {
      return std::unexpected(std::move(merged.error()));
    }
    return into->encode();
  }
  Result<void> merge_into(Bytes& state, std::string_view other) const override {
    if constexpr (requires { Sketch::merge_in_place(state, other); }) {
      const Result<bool> merged = Sketch::merge_in_place(state, other);
      if (!merged) return std::unexpected(merged.error());
      if (*merged) return {};
    }
    return Monoid::merge_into(state, other);
  }
  bool idempotent() const override { return Sketch::kIdempotent; }

 private:
  const std::string name_;
  const Sketch empty_;
};

template <class Sketch>
Result<MonoidPtr> sketch_monoid(std::string name, Sketch empty) {
  return std::make_shared<SketchMonoid<Sketch>>(std::move(name), std::move(empty));
}

Result<MonoidPtr> own_monoid(const TallyShape& shape) {
  const MonoidPtr& own = shape.own;
  if (!own) return failure(ErrorCode::invalid, "a tally of one's own kind needs its monoid");
  const std::string name = own->name();
  const bool printable = std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
  if (name.empty() || name.size() > 64 || !printable) {
    return failure(ErrorCode::invalid, "a monoid's name has 1 to 64 printable characters");
  }
  if (monoid_named(name, nullptr)) {
    return failure(ErrorCode::invalid, "a monoid may not have the name of a built-in kind");
  }
  return own;
}

// The rest of `name` after `prefix`, if it is a number.
template <class N>
std::optional<N> number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  N number{};
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

template <TallyKind kKind>
std::optional<TallyShape> plain_shape(std::string_view monoid) {
  if (monoid != traits_of(kKind).name) return std::nullopt;
  return TallyShape{.kind = kKind};
}

std::optional<TallyShape> distinct_shape(std::string_view monoid) {
  const auto precision = number_after<unsigned>("distinct/", monoid);
  if (!precision) return std::nullopt;
  return TallyShape{.kind = TallyKind::distinct, .precision = *precision};
}

std::optional<TallyShape> top_shape(std::string_view monoid) {
  const auto counters = number_after<std::size_t>("top/", monoid);
  if (!counters) return std::nullopt;
  return TallyShape{.kind = TallyKind::top, .counters = *counters};
}

std::optional<TallyShape> bloom_shape(std::string_view monoid) {
  const std::size_t slash = monoid.rfind('/');
  if (slash == std::string_view::npos || !monoid.starts_with("bloom/")) return std::nullopt;
  const auto capacity = number_after<std::uint64_t>("bloom/", monoid.substr(0, slash));
  const auto rate = number_after<double>("", monoid.substr(slash + 1));
  if (!capacity || !rate) return std::nullopt;
  return TallyShape{.kind = TallyKind::bloom, .capacity = *capacity, .rate = *rate};
}

// A monoid of a program's own has a name that no built-in kind knows.
std::optional<TallyShape> no_shape(std::string_view /*monoid*/) { return std::nullopt; }

std::string bloom_name(const TallyShape& shape) {
  std::array<char, 32> rate;
  const auto end = std::to_chars(rate.data(), rate.data() + rate.size(), shape.rate).ptr;
  return "bloom/" + std::to_string(shape.capacity) + '/' + std::string(rate.data(), end);
}

Result<MonoidPtr> sum_monoid(const TallyShape& shape) {
  return std::make_shared<SumMonoid>(std::string(traits_of(shape.kind).name));
}

Result<MonoidPtr> real_monoid(const TallyShape& /*shape*/) {
  return std::make_shared<RealMonoid>();
}

Result<MonoidPtr> extreme_monoid(const TallyShape& shape) {
  return std::make_shared<ExtremeMonoid>(shape.kind);
}

Result<MonoidPtr> distinct_monoid(const TallyShape& shape) {
  if (shape.precision < sketches::kMinPrecision || shape.precision > sketches::kMaxPrecision) {
    return failure(ErrorCode::invalid, "distinct: a precision is 8 to 18");
  }
  return sketch_monoid("distinct/" + std::to_string(shape.precision),
                       sketches::Distinct(shape.precision));
}

Result<MonoidPtr> top_monoid(const TallyShape& shape) {
  if (shape.counters < 1 || shape.counters > sketches::kMaxCounters) {
    return failure(ErrorCode::invalid, "top: 1 to 10,000 counters");
  }
  return sketch_monoid("top/" + std::to_string(shape.counters), sketches::Top(shape.counters));
}

Result<MonoidPtr> bloom_monoid(const TallyShape& shape) {
  Result<sketches::Bloom> empty = sketches::Bloom::make({shape.capacity, shape.rate});
  if (!empty) return std::unexpected(std::move(empty.error()));
  return sketch_monoid(bloom_name(shape), std::move(*empty));
}

std::size_t word_bytes(const TallyShape& /*shape*/) { return kWordBytes; }
std::size_t distinct_bytes(const TallyShape& shape) {
  return std::size_t{1} << std::min(shape.precision, sketches::kMaxPrecision);
}
std::size_t top_bytes(const TallyShape& shape) {
  return std::min(shape.counters, sketches::kMaxCounters) * (sketches::kMaxTopItem + kWordBytes);
}
std::size_t bloom_bytes(const TallyShape& shape) {
  return sketches::Bloom::bytes_of({shape.capacity, shape.rate}).value_or(0);
}
std::size_t own_bytes(const TallyShape& /*shape*/) { return 0; }

Result<Bytes> integer_state(const TallyShape& shape, const Monoid& /*monoid*/,
                            const TallyInput& input) {
  const std::int64_t number = std::get<std::int64_t>(input);
  if (shape.kind == TallyKind::count && number < 1) {
    return failure(ErrorCode::invalid, "a count grows by 1 or more");
  }
  return integer(number);
}

Result<Bytes> real_state(const TallyShape& /*shape*/, const Monoid& /*monoid*/,
                         const TallyInput& input) {
  const double real = std::get<double>(input);
  if (!std::isfinite(real)) {
    return failure(ErrorCode::invalid, "the input does not suit the kind of tally");
  }
  return word(std::bit_cast<std::uint64_t>(real));
}

constexpr std::size_t kMaxItems = 10'000;
constexpr std::size_t kMaxItemBytes = 64U << 10;

Result<void> check_items(const std::vector<CountedItem>& items) {
  const bool short_enough = std::ranges::all_of(
      items, [](const CountedItem& counted) { return counted.item.size() <= kMaxItemBytes; });
  if (items.size() <= kMaxItems && short_enough) return {};
  return failure(ErrorCode::invalid, "at most 10,000 items of at most 64 KiB");
}

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

Result<Bytes> sketch_state(const TallyShape& shape, const Monoid& /*monoid*/,
                           const TallyInput& input) {
  const auto& items = std::get<std::vector<CountedItem>>(input);
  if (Result<void> ok = check_items(items); !ok) return std::unexpected(std::move(ok.error()));
  if (shape.kind == TallyKind::distinct) {
    return with_items(sketches::Distinct(shape.precision), items);
  }
  if (shape.kind == TallyKind::top) return top_of(sketches::Top(shape.counters), items);
  return with_items(*sketches::Bloom::make({shape.capacity, shape.rate}), items);
}

Result<Bytes> own_state(const TallyShape& /*shape*/, const Monoid& monoid,
                        const TallyInput& input) {
  const Bytes& state = std::get<Bytes>(input);
  if (!monoid.validate(state)) return failure(ErrorCode::invalid, "not a state of the monoid");
  return state;
}

TallyValue integer_value(std::string_view state) { return integer_in(state); }

TallyValue extreme_value(std::string_view state) {
  if (state.empty()) return std::monostate{};
  return integer_in(state);
}

TallyValue real_value(std::string_view state) { return std::bit_cast<double>(word_in(state)); }

TallyValue distinct_value(std::string_view state) {
  const double estimate = sketches::Distinct::decode(state)->estimate();
  return static_cast<std::int64_t>(std::min(std::round(estimate), 9.0e18));
}

TallyValue top_value(std::string_view state) {
  std::vector<HeavyItem> items;
  for (sketches::Heavy& heavy : sketches::Top::decode(state)->report()) {
    items.push_back({std::move(heavy.item), heavy.count, heavy.error});
  }
  return items;
}

TallyValue bloom_value(std::string_view state) { return BloomAnswer{Bytes(state)}; }
TallyValue own_value(std::string_view state) { return Bytes(state); }

}  // namespace

std::span<const KindTraits> all_kinds() {
  using enum TallyKind;
  using Form = InputForm;
  using Native = NativeMerge;
  // kind, name, input_field, input, idempotent, native, monoid, most_bytes, shape, state, value
  static constexpr std::array<KindTraits, 9> kKinds = {{
      {sum, "sum", "add", Form::integer, false, Native::add,  //
       sum_monoid, word_bytes, plain_shape<sum>, integer_state, integer_value},
      {real, "real", "add", Form::real, false, Native::none,  //
       real_monoid, word_bytes, plain_shape<real>, real_state, real_value},
      {count, "count", "add", Form::integer, false, Native::add,  //
       sum_monoid, word_bytes, plain_shape<count>, integer_state, integer_value},
      {max, "max", "value", Form::integer, true, Native::raise,  //
       extreme_monoid, word_bytes, plain_shape<max>, integer_state, extreme_value},
      {min, "min", "value", Form::integer, true, Native::raise,  //
       extreme_monoid, word_bytes, plain_shape<min>, integer_state, extreme_value},
      {distinct, "distinct", "items", Form::items, sketches::Distinct::kIdempotent, Native::none,
       distinct_monoid, distinct_bytes, distinct_shape, sketch_state, distinct_value},
      {top, "top", "items", Form::items, sketches::Top::kIdempotent, Native::none,  //
       top_monoid, top_bytes, top_shape, sketch_state, top_value},
      {bloom, "bloom", "items", Form::items, sketches::Bloom::kIdempotent, Native::none,  //
       bloom_monoid, bloom_bytes, bloom_shape, sketch_state, bloom_value},
      {own, "own", "", Form::state, false, Native::none,  //
       own_monoid, own_bytes, no_shape, own_state, own_value},
  }};
  return kKinds;
}

const KindTraits& traits_of(TallyKind kind) { return all_kinds()[static_cast<std::size_t>(kind)]; }

Result<MonoidPtr> monoid_of(const TallyShape& shape) {
  if (shape.kind > TallyKind::own) return failure(ErrorCode::invalid, "no such kind of tally");
  return traits_of(shape.kind).monoid(shape);
}

std::size_t most_bytes_of(const TallyShape& shape) {
  return shape.kind > TallyKind::own ? 0 : traits_of(shape.kind).most_bytes(shape);
}

std::size_t most_bytes_named(std::string_view monoid) {
  for (const KindTraits& traits : all_kinds()) {
    if (const std::optional<TallyShape> shape = traits.shape(monoid)) {
      return traits.most_bytes(*shape);
    }
  }
  return 0;
}

std::optional<NamedMonoid> monoid_named(std::string_view name, const MonoidPtr& own) {
  if (own && own->name() == name) return NamedMonoid{TallyKind::own, own};
  for (const KindTraits& traits : all_kinds()) {
    const std::optional<TallyShape> shape = traits.shape(name);
    if (!shape) continue;
    Result<MonoidPtr> monoid = traits.monoid(*shape);
    if (!monoid || (*monoid)->name() != name) return std::nullopt;
    return NamedMonoid{traits.kind, std::move(*monoid)};
  }
  return std::nullopt;
}

Result<Bytes> state_of(const TallyShape& shape, const Monoid& monoid, const TallyInput& input) {
  const KindTraits& traits = traits_of(shape.kind);
  // InputForm is in the order of TallyInput's alternatives.
  if (input.index() != static_cast<std::size_t>(traits.input)) {
    return failure(ErrorCode::invalid, "the input does not suit the kind of tally");
  }
  return traits.state(shape, monoid, input);
}

TallyValue value_of(TallyKind kind, std::string_view state) { return traits_of(kind).value(state); }

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
