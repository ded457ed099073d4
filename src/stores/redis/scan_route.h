// The order in which a scan of all keys visits the servers of a cluster.
//
// Keys may move behind the scan, so importing servers are scanned twice. While a slot is moved, its
// keys go one by one from its old server to its new one; each is at one of the two at any time and
// never goes back. A scan that visited both may have missed keys that went from a server it had not
// reached to one it had left. It therefore visits importing servers again, last, for the keys of
// these slots only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stores/redis/reader.h"

namespace once::redis {

struct ScanStop {
  Endpoint server;
  std::vector<std::uint16_t> only;  // Keys of these slots; empty: all keys.
};

struct ScanRoute {
  std::vector<ScanStop> stops;
  // Changes when slots change hands or start to move. A cursor of another state is of no use: the
  // scan starts over.
  std::uint64_t state = 0;
};

// The current route, as all servers describe it. `unavailable` if one of them does not answer.
Result<ScanRoute> learn_scan_route(const ReadContext& context);

// What CLUSTER NODES says of the server that answers. Empty if it is no such answer.
struct OwnSlots {
  friend bool operator==(const OwnSlots&, const OwnSlots&) = default;

  std::vector<std::uint16_t> taken_in;
  std::uint64_t state = 0;  // Changes with these, with the slots it exports, and with its epoch.
};
std::optional<OwnSlots> own_slots_in(std::string_view nodes);

}  // namespace once::redis
