// What listings of documents and tallies have in common.
#pragma once

#include <cstddef>
#include <string>

namespace once {

// Which page of a listing is wanted. A page ends when `limit` were found, or 10,000 items were
// examined: it may be empty although a cursor follows.
struct Listing {
  std::string prefix;         // Of the names; empty for all.
  std::string cursor;         // Empty, or from the page before.
  std::size_t limit = 1'000;  // From 1 to 10,000.
};

// What one step of a bulk removal did. Another follows unless the cursor is empty.
struct BulkRemoved {
  std::size_t count = 0;  // How many were removed; in a dry run, would be.
  std::string cursor;

  friend bool operator==(const BulkRemoved&, const BulkRemoved&) = default;
};

enum class BulkRun : bool { dry, wet };

}  // namespace once
