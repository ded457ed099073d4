// The way of a walk over all keys: the servers of a cluster, so that no key slips past it.
//
// While a slot is being moved, its keys go one by one from the server that has it to the one that
// is to have it; each is at one of the two at any time, and never goes back. So a walk that has
// been at both may have missed what went from where it had yet to come to where it had been, and
// goes to those who take in slots a second time, last, for the keys of these slots only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stores/redis/reader.h"

namespace once::redis {

struct Stop {
  Endpoint server;
  std::vector<std::uint16_t> only;  // Keys of these slots; empty: all keys.
};

struct Course {
  std::vector<Stop> stops;
  // Changes with who has which slots and who takes in which: then it is another way, and what has
  // been walked of this one says nothing.
  std::uint64_t state = 0;
};

// As it is now, by the word of all its servers. `unavailable` if one of them does not say.
Result<Course> learn_course(const Reading& reading);

// What CLUSTER NODES says of the server that answers. Nothing if it is no such answer.
struct OwnSlots {
  friend bool operator==(const OwnSlots&, const OwnSlots&) = default;

  std::vector<std::uint16_t> taken_in;
  std::uint64_t state =
      0;  // Changes with these, with those it gives away, and whenever it gets one.
};
std::optional<OwnSlots> own_slots_in(std::string_view nodes);

}  // namespace once::redis
