// Listings: a walk through the items of one kind, in bounded pages. Claims, logs, documents and
// tallies are all listed by it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "once/plan.h"

namespace once {

// What one page of a listing may cost. A page that ends early has a cursor, and may be empty.
inline constexpr std::size_t kMaxExamined = 10'000;
inline constexpr std::size_t kMaxFoundBytes = 8U << 20;  // Of the values of found items, about.

struct WalkRequest {
  std::string home_prefix;
  std::string cursor;         // Empty, or the answer of the walk before.
  std::size_t limit = 1'000;  // Items to find, from 1 to kMaxPage.
};

// Whether this item is one of those that are looked for. It may move the item away, but not its
// key. An error ends the walk.
using IsFound = std::function<Result<bool>(ListPage::Listed& listed, Time now)>;

// Shows `is_found` one item after another, until `limit` are found, kMaxExamined were examined, or
// the end is reached. The answer is the cursor of the next page, empty at the end.
//
// An item that exists for the whole walk is met at least once. It is met twice only if the item
// that the page before ended with is gone by then.
Plan<std::string> walk(WalkRequest request, IsFound is_found);

}  // namespace once
