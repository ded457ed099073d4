// list: SCAN over every server that has slots, by a route that misses no key (scan_route.h).
//
// SCAN gives keys in batches of its own size, and the batch at one place changes as the server's
// table grows and shrinks. So a cursor names the place and what of its batch has been read; of what
// the place has next time, only the rest is read. If slots have moved meanwhile, or began or ceased
// to, the walk starts over, because a key may have moved to where the walk has been.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/reader.h"

namespace once::redis {

struct Place {
  std::uint64_t state = 0;          // Of the route.
  std::uint64_t server = 0;         // The stop, by its place in the route.
  std::uint64_t scan = 0;           // The server's own cursor.
  std::uint64_t within = 0;         // The set that was begun, by the hash of its name,
  std::int64_t after = 0;           // and the last sort that was read of it; 0 for none.
  std::vector<std::uint64_t> done;  // Of the batch, by the hashes of their names.
};

std::string to_cursor(const Place& place);
std::optional<Place> parse_cursor(std::string_view cursor);

Result<ListPage> read_list(const ReadContext& context, const ListRequest& request);

// One batch of SCAN.
struct Batch {
  std::vector<std::string> names;
  std::uint64_t next = 0;
};
Result<Batch> scan_server(const ReadContext& context, const Endpoint& server, std::uint64_t at,
                          std::string_view pattern, std::string_view type, std::size_t count);

}  // namespace once::redis
