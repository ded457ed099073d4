// The kinds of tally, one row of traits each: the name, the input, the monoid over states, and how
// a store can merge it by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "once/tallies.h"

namespace once::tallies {

using MonoidPtr = std::shared_ptr<const Monoid>;

// The alternative of TallyInput that a kind takes.
enum class InputForm : std::uint8_t { integer, real, items, state };

// How a store can merge a kind without reading it. Such a bucket is stored as an integer: sum,
// count and max as their value, min as its complement, so that the smallest value is the highest
// integer and no int64 overflows.
enum class NativeMerge : std::uint8_t { none, add, raise };

// One row for each kind. Every kind can have a window.
struct KindTraits {
  TallyKind kind = TallyKind::sum;
  std::string_view name;         // In the API, and the first part of the monoid's name.
  std::string_view input_field;  // That carries the input in the API; empty for `own`.
  InputForm input = InputForm::integer;
  bool idempotent = false;  // Merging again changes nothing. A monoid of `own` says so itself.
  NativeMerge native = NativeMerge::none;

  // The monoid of a shape of this kind. `invalid` if the shape has none.
  Result<MonoidPtr> (*monoid)(const TallyShape& shape) = nullptr;

  // How large a state of a valid shape can be; unknown, and 0, for `own`.
  std::size_t (*most_bytes)(const TallyShape& shape) = nullptr;

  // The shape whose monoid has this name, if the name is one of this kind.
  std::optional<TallyShape> (*shape)(std::string_view monoid) = nullptr;

  // The state of one input alone, of the right form. `invalid` if the kind refuses it.
  Result<Bytes> (*state)(const TallyShape& shape, const Monoid& monoid,
                         const TallyInput& input) = nullptr;

  // The value of a valid state.
  TallyValue (*value)(std::string_view state) = nullptr;
};

// In the order of TallyKind.
std::span<const KindTraits> all_kinds();
const KindTraits& traits_of(TallyKind kind);

inline bool is_native(TallyKind kind) { return traits_of(kind).native != NativeMerge::none; }

// The monoid of a shape. `invalid` if the shape has none.
Result<MonoidPtr> monoid_of(const TallyShape& shape);

// How large a state of the shape can be; 0 if the shape has none, and for `own`.
std::size_t most_bytes_of(const TallyShape& shape);
std::size_t most_bytes_named(std::string_view monoid);  // 0 for one that is not built in.

// The built-in monoid of this name, or `own` if it has that name.
struct NamedMonoid {
  TallyKind kind;
  MonoidPtr monoid;
};
std::optional<NamedMonoid> monoid_named(std::string_view name, const MonoidPtr& own);

// The state of one input alone. `invalid` if the kind does not take it.
Result<Bytes> state_of(const TallyShape& shape, const Monoid& monoid, const TallyInput& input);

// The value of a valid state.
TallyValue value_of(TallyKind kind, std::string_view state);

// Between the state of a native kind and the integer that is stored. The second is not for the
// state of a max or min of nothing.
Bytes state_of_native(TallyKind kind, std::int64_t number);
std::int64_t native_of(TallyKind kind, std::string_view state);

}  // namespace once::tallies
