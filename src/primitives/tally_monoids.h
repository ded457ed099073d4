// The built-in kinds of tally as monoids over bytes.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "once/tallies.h"

namespace once::tallies {

using MonoidPtr = std::shared_ptr<const Monoid>;

// The monoid of a shape. `invalid` if the shape makes no sense.
Result<MonoidPtr> monoid_of(const TallyShape& shape);

// The built-in of this name; `own` if that is its name; otherwise nothing.
struct NamedMonoid {
  TallyKind kind;
  MonoidPtr monoid;
};
std::optional<NamedMonoid> monoid_named(std::string_view name, const MonoidPtr& own);

}  // namespace once::tallies
