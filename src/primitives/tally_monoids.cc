#include "primitives/tally_monoids.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "primitives/sketches/bloom.h"
#include "primitives/sketches/distinct.h"
#include "primitives/sketches/top.h"
#include "primitives/tally_words.h"

namespace once::tallies {
namespace {

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

// max and min: nothing, or 8 bytes, little endian. Zero is no identity for them.
class ExtremeMonoid final : public Monoid {
 public:
  explicit ExtremeMonoid(TallyKind kind) : kind_(kind) {}
  std::string name() const override { return kind_ == TallyKind::max ? "max" : "min"; }
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
  bool idempotent() const override { return true; }

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

// A sketch of one shape: `empty` is its identity.
template <class Sketch>
class SketchMonoid final : public Monoid {
 public:
  SketchMonoid(std::string name, Sketch empty) : name_(std::move(name)), empty_(std::move(empty)) {}
  std::string name() const override { return name_; }
  Bytes identity() const override { return empty_.encode(); }
  Result<void> validate(std::string_view state) const override {
    Result<Sketch> sketch = Sketch::decode(state);
    if (!sketch) return std::unexpected(std::move(sketch.error()));
    return sketch->merge(empty_);  // Which changes nothing, unless they are of different shapes.
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
  bool idempotent() const override { return Sketch::kIdempotent; }

 private:
  const std::string name_;
  const Sketch empty_;
};

template <class Sketch>
Result<MonoidPtr> sketch_monoid(std::string name, Sketch empty) {
  return std::make_shared<SketchMonoid<Sketch>>(std::move(name), std::move(empty));
}

Result<MonoidPtr> own_monoid(const MonoidPtr& own) {
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

// The number after `prefix` in `name`, if it is all of the rest.
template <class N>
std::optional<N> number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  N number{};
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// The shape that a built-in monoid's name tells.
std::optional<TallyShape> shape_named(std::string_view name) {
  using enum TallyKind;
  constexpr std::array<std::pair<std::string_view, TallyKind>, 5> kPlain = {
      {{"sum", sum}, {"real", real}, {"count", count}, {"max", max}, {"min", min}}};
  for (const auto& [plain, kind] : kPlain) {
    if (name == plain) return TallyShape{.kind = kind};
  }
  if (const auto precision = number_after<unsigned>("distinct/", name)) {
    return TallyShape{.kind = distinct, .precision = *precision};
  }
  if (const auto counters = number_after<std::size_t>("top/", name)) {
    return TallyShape{.kind = top, .counters = *counters};
  }
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos || !name.starts_with("bloom/")) return std::nullopt;
  const auto capacity = number_after<std::uint64_t>("bloom/", name.substr(0, slash));
  const auto rate = number_after<double>("", name.substr(slash + 1));
  if (!capacity || !rate) return std::nullopt;
  return TallyShape{.kind = bloom, .capacity = *capacity, .rate = *rate};
}

std::string bloom_name(const TallyShape& shape) {
  std::array<char, 32> rate;
  const auto end = std::to_chars(rate.data(), rate.data() + rate.size(), shape.rate).ptr;
  return "bloom/" + std::to_string(shape.capacity) + '/' + std::string(rate.data(), end);
}

}  // namespace

Result<MonoidPtr> monoid_of(const TallyShape& shape) {
  switch (shape.kind) {
    case TallyKind::sum: return std::make_shared<SumMonoid>("sum");
    case TallyKind::count: return std::make_shared<SumMonoid>("count");
    case TallyKind::real: return std::make_shared<RealMonoid>();
    case TallyKind::max:
    case TallyKind::min: return std::make_shared<ExtremeMonoid>(shape.kind);
    case TallyKind::distinct:
      if (shape.precision < sketches::kMinPrecision || shape.precision > sketches::kMaxPrecision) {
        return failure(ErrorCode::invalid, "distinct: a precision is 8 to 18");
      }
      return sketch_monoid("distinct/" + std::to_string(shape.precision),
                           sketches::Distinct(shape.precision));
    case TallyKind::top:
      if (shape.counters < 1 || shape.counters > sketches::kMaxCounters) {
        return failure(ErrorCode::invalid, "top: 1 to 10,000 counters");
      }
      return sketch_monoid("top/" + std::to_string(shape.counters), sketches::Top(shape.counters));
    case TallyKind::bloom: {
      Result<sketches::Bloom> empty = sketches::Bloom::make({shape.capacity, shape.rate});
      if (!empty) return std::unexpected(std::move(empty.error()));
      return sketch_monoid(bloom_name(shape), std::move(*empty));
    }
    case TallyKind::own: return own_monoid(shape.own);
  }
  return failure(ErrorCode::invalid, "no such kind of tally");
}

std::optional<NamedMonoid> monoid_named(std::string_view name, const MonoidPtr& own) {
  if (own && own->name() == name) return NamedMonoid{TallyKind::own, own};
  const std::optional<TallyShape> shape = shape_named(name);
  if (!shape) return std::nullopt;
  Result<MonoidPtr> monoid = monoid_of(*shape);
  if (!monoid || (*monoid)->name() != name) return std::nullopt;
  return NamedMonoid{shape->kind, std::move(*monoid)};
}

}  // namespace once::tallies
