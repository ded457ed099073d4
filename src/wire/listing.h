// What all listings have in common: the part of a query that says which page is wanted, and the
// cursor of an answer.
#pragma once

#include <string>
#include <string_view>

#include "wire/json.h"

namespace once::wire {

struct ListingRequest {
  std::string prefix;  // Of the names; empty for all.
  std::string cursor;  // Empty, or from the page before.
  std::size_t limit = 1'000;
};

// "limit=1000&prefix=a&cursor=..."; what is empty is left out.
std::string query_of(const ListingRequest& request);

// "limit" of a request, or 1000.
std::size_t take_limit(Fields& fields);

// A cursor as text. null, or none at all, is the end.
Result<std::string> decode_cursor(std::string_view text);
std::string take_cursor(Fields& fields);
void add_cursor(JsonObject& body, const std::string& cursor);
std::string read_cursor(JsonReader& body);

}  // namespace once::wire
